import { type DType, openDevice } from "@vd/kernels-native";
import { Eager, type Tensor } from "@vd/tensor";
import { activationType, type Fixture, type GoldenContext, type GoldenKind, type TensorCheck } from "../kind";
import { moveDimension } from "../layout";
import { type Limits, withinStated } from "../limits";

/** A case of the fixture: its name is the tensors' name, a dot and the variant. */
interface Case {
  fixture: Fixture;
  eager: Eager;
  dtype: DType;
  limits: Limits;
  /** E.g. `b1h2s33d40.bool`, `varlen.cross`. */
  name: string;
  /** What the JSON says of it. */
  facts: { scale?: number; causal?: boolean };
}

const variantOf = (name: string) => name.slice(name.lastIndexOf(".") + 1).split("_");
const isCausal = ({ facts, name }: Case) => facts.causal ?? variantOf(name).includes("causal");

/** The stored name of operand `part`: the case's own, or the one that all variants share. */
function nameOf({ fixture, name }: Case, part: string): string | undefined {
  const shared = name.slice(0, name.lastIndexOf("."));
  return [`in.${name}.${part}`, `in.${shared}.${part}`].find((stored) => fixture.has(stored));
}

function required(current: Case, part: string): string {
  const stored = nameOf(current, part);
  if (stored === undefined) throw new Error(`in.${current.name}.${part}: expected a tensor, got none`);
  return stored;
}

/** Queries, keys or values (batch, heads, length, head size) as tokens with heads side by side: [B,1,S,E]. */
function tokensOf(current: Case, part: string): Tensor {
  const stored = required(current, part);
  const { fixture, eager, dtype } = current;
  const [batch, heads, length, head] = fixture.shape(stored) as [number, number, number, number];
  const { values } = moveDimension(fixture.float32(stored), [batch, heads, length, head], 1, 2);
  return eager.tensor(values, [batch, 1, length, heads * head], dtype);
}

/** A mask as the op takes it: [1|B,1|heads,1|S,L], keys that the fixture broadcasts repeated. */
function maskOf(current: Case, part: "bool_mask" | "add_mask", keys: number): Tensor {
  const stored = required(current, part);
  const { fixture, eager, dtype } = current;
  const shape = [1, 1, 1, 1, ...fixture.shape(stored)].slice(-4) as [number, number, number, number];
  const [batch, heads, rows, ownKeys] = shape;
  const source = fixture.float32(stored);
  const values = new Float32Array(batch * heads * rows * keys);
  for (let i = 0; i < values.length; i++) values[i] = source[ownKeys === 1 ? Math.floor(i / keys) : i]!;
  const type = part === "bool_mask" ? "u8" : dtype;
  return eager.tensor(values, [batch, heads, rows, keys], type);
}

/** What the op and its gradients take of a case, and how tokens become the fixture's order. */
interface Call {
  operands: { q: Tensor; k: Tensor; v: Tensor; mask?: Tensor | undefined; cuQ?: Tensor; cuK?: Tensor };
  attrs: { heads: number; scale: number; causal: boolean };
  /** The result's gradient, if the fixture holds one. */
  dy: Tensor | undefined;
  /** Results of tokens [B,1,S,E] as the fixture has them. */
  stored(values: Float32Array, tokens: Tensor): Float32Array;
  /** The log-sum-exp [B,1,heads,S] as the fixture has it; name: of the stored one. */
  storedLse(values: Float32Array, name: string): Float32Array;
}

/** Queries, keys and values (batch, heads, length, head size). */
function dense(current: Case): Call {
  const { fixture, name } = current;
  const [batch, heads, , head] = fixture.shape(required(current, "q")) as [number, number, number, number];
  const [q, k, v] = ["q", "k", "v"].map((part) => tokensOf(current, part)) as [Tensor, Tensor, Tensor];
  const variant = variantOf(name);
  const maskName = variant.includes("bool") ? "bool_mask" : variant.includes("add") ? "add_mask" : undefined;
  return {
    operands: { q, k, v, mask: maskName && maskOf(current, maskName, k.dims[2]!) },
    attrs: { heads, scale: current.facts.scale ?? 1 / Math.sqrt(head), causal: isCausal(current) },
    dy: nameOf(current, "do") === undefined ? undefined : tokensOf(current, "do"),
    stored: (values, tokens) => moveDimension(values, [batch, tokens.dims[2]!, heads, head], 2, 1).values,
    storedLse: (values) => values,
  };
}

/** Sequences one behind the other: (tokens, heads, head size), offsets in cu_q and cu_k. */
function packed(current: Case): Call {
  const { fixture, eager, dtype } = current;
  const [numTokens, heads, head] = fixture.shape(required(current, "q")) as [number, number, number];
  const tokens = (stored: string) =>
    eager.tensor(fixture.float32(stored), [1, 1, fixture.shape(stored)[0]!, heads * head], dtype);
  const [q, k, v] = ["q", "k", "v"].map((part) => tokens(required(current, part))) as [Tensor, Tensor, Tensor];
  const offsets = (stored: string) => eager.tensor(fixture.float64(stored), fixture.shape(stored), "i32");
  const cuQ = offsets(required(current, "cu_q"));
  const cuK = offsets(nameOf(current, "cu_k") ?? required(current, "cu_q"));
  const dy = nameOf(current, "do");
  return {
    operands: { q, k, v, cuQ, cuK },
    attrs: { heads, scale: current.facts.scale ?? 1 / Math.sqrt(head), causal: isCausal(current) },
    dy: dy === undefined ? undefined : tokens(dy),
    stored: (values) => values,
    storedLse: (values, name) =>
      fixture.shape(name)[0] === heads ? values : moveDimension(values, [heads, numTokens], 0, 1).values,
  };
}

/** The result and the log-sum-exp, then the gradients that the fixture holds, computed from both. */
async function* check(current: Case, call: Call): AsyncGenerator<TensorCheck> {
  const { fixture, eager, name, limits } = current;
  const { operands, attrs, dy } = call;
  const { q, k, v } = operands;
  const [batch, , length] = q.dims as [number, number, number];
  const zeros = (like: Tensor) => eager.zeros(like.dims, like.dtype);
  const lse = eager.zeros([batch, 1, attrs.heads, length]);
  const y = await eager.ops.attention({ name, ...operands, ...attrs, outputs: { lse } });
  yield withinStated(`out.${name}.o`, "o", call.stored(eager.readSync(y), q), fixture.float64(`out.${name}.o`), limits);
  const storedLse = `out.${name}.lse`;
  if (fixture.has(storedLse)) {
    const values = call.storedLse(eager.readSync(lse), storedLse);
    yield withinStated(storedLse, "o", values, fixture.float64(storedLse), limits);
  }
  if (!dy) return;
  const outputs = { dq: zeros(q), dk: zeros(k), dv: zeros(v) };
  await eager.ops.attentionBackward({ name, ...operands, ...attrs, y, lse, dy, outputs });
  for (const [part, gradient] of Object.entries(outputs)) {
    const stored = `out.${name}.${part}`;
    if (!fixture.has(stored)) continue;
    const values = call.stored(eager.readSync(gradient), gradient);
    yield withinStated(stored, "grad", values, fixture.float64(stored), limits);
  }
}

function caseOf(fixture: Fixture, context: GoldenContext, eager: Eager, name: string): Case {
  const facts = fixture.json.cases[name] as Case["facts"];
  const limits: Limits = fixture.json.tolerance[context.dtype] ?? {};
  return { fixture, eager, dtype: activationType(context), limits, name, facts };
}

/** Scaled dot-product attention, plain, masked, causal and over packed sequences: the result `o`, the log-sum-exp `lse` and
 *  the gradients `dq`, `dk` and `dv` of each case. */
export const attentionKind: GoldenKind = {
  kind: "attention",
  async *run(fixture, context) {
    const eager = new Eager(openDevice(context.device));
    for (const name of Object.keys(fixture.json.cases as object)) {
      const current = caseOf(fixture, context, eager, name);
      const isPacked = fixture.shape(required(current, "q")).length === 3;
      yield* check(current, isPacked ? packed(current) : dense(current));
    }
  },
};
