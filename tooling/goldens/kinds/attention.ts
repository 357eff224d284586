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

/** A mask as the op takes it: [1|B,1|heads,S,L], rows that the fixture broadcasts repeated. */
function maskOf(current: Case, part: "bool_mask" | "add_mask", rows: number, keys: number): Tensor {
  const stored = required(current, part);
  const { fixture, eager, dtype } = current;
  const shape = [1, 1, 1, 1, ...fixture.shape(stored)].slice(-4) as [number, number, number, number];
  const [batch, heads, ownRows, ownKeys] = shape;
  const source = fixture.float32(stored);
  const values = new Float32Array(batch * heads * rows * keys);
  for (let i = 0; i < values.length; i++) {
    const [plane, row, key] = [Math.floor(i / (rows * keys)), Math.floor(i / keys) % rows, i % keys];
    values[i] = source[(plane * ownRows + (ownRows === 1 ? 0 : row)) * ownKeys + (ownKeys === 1 ? 0 : key)]!;
  }
  const type = part === "bool_mask" ? "u8" : dtype === "f16" ? "f16" : "f32";
  return eager.tensor(values, [batch, heads, rows, keys], type);
}

async function* dense(current: Case): AsyncGenerator<TensorCheck> {
  const { fixture, eager, name, limits } = current;
  const [batch, heads, length, head] = fixture.shape(required(current, "q")) as [number, number, number, number];
  const [q, k, v] = ["q", "k", "v"].map((part) => tokensOf(current, part)) as [Tensor, Tensor, Tensor];
  const variant = variantOf(name);
  const maskName = variant.includes("bool") ? "bool_mask" : variant.includes("add") ? "add_mask" : undefined;
  const mask = maskName && maskOf(current, maskName, length, k.dims[2]!);
  const lse = eager.zeros([batch, 1, heads, length]);
  const scale = current.facts.scale ?? 1 / Math.sqrt(head);
  const outputs = { lse };
  const y = await eager.ops.attention({ name, q, k, v, mask, heads, scale, causal: isCausal(current), outputs });
  const o = moveDimension(eager.readSync(y), [batch, length, heads, head], 2, 1).values;
  yield withinStated(`out.${name}.o`, "o", o, fixture.float64(`out.${name}.o`), limits);
  const stored = `out.${name}.lse`;
  if (fixture.has(stored)) yield withinStated(stored, "o", eager.readSync(lse), fixture.float64(stored), limits);
}

/** Sequences one behind the other: (tokens, heads, head size), offsets in cu_q and cu_k. */
async function* packed(current: Case): AsyncGenerator<TensorCheck> {
  const { fixture, eager, dtype, name, limits } = current;
  const [numTokens, heads, head] = fixture.shape(required(current, "q")) as [number, number, number];
  const [q, k, v] = ["q", "k", "v"].map((part) => {
    const stored = required(current, part);
    return eager.tensor(fixture.float32(stored), [1, 1, fixture.shape(stored)[0]!, heads * head], dtype);
  }) as [Tensor, Tensor, Tensor];
  const offsets = (stored: string) => eager.tensor(fixture.float64(stored), fixture.shape(stored), "i32");
  const cuQ = offsets(required(current, "cu_q"));
  const cuK = offsets(nameOf(current, "cu_k") ?? required(current, "cu_q"));
  const lse = eager.zeros([1, 1, heads, numTokens]);
  const scale = current.facts.scale ?? 1 / Math.sqrt(head);
  const causal = isCausal(current);
  const y = await eager.ops.attention({ name, q, k, v, cuQ, cuK, heads, scale, causal, outputs: { lse } });
  yield withinStated(`out.${name}.o`, "o", eager.readSync(y), fixture.float64(`out.${name}.o`), limits);
  const stored = `out.${name}.lse`;
  if (!fixture.has(stored)) return;
  const byHead = fixture.shape(stored)[0] === heads;
  const ours = byHead ? eager.readSync(lse) : moveDimension(eager.readSync(lse), [heads, numTokens], 0, 1).values;
  yield withinStated(stored, "o", ours, fixture.float64(stored), limits);
}

function caseOf(fixture: Fixture, context: GoldenContext, eager: Eager, name: string): Case {
  const facts = fixture.json.cases[name] as Case["facts"];
  const limits: Limits = fixture.json.tolerance[context.dtype] ?? {};
  return { fixture, eager, dtype: activationType(context), limits, name, facts };
}

/** Scaled dot-product attention, plain, masked, causal and over packed sequences: the result `o` and the log-sum-exp
 *  `lse` of each case. Forward only: the gradients `dq`, `dk` and `dv` that the fixture holds are not checked. */
export const attentionKind: GoldenKind = {
  kind: "attention",
  async *run(fixture, context) {
    const eager = new Eager(openDevice(context.device));
    for (const name of Object.keys(fixture.json.cases as object)) {
      const current = caseOf(fixture, context, eager, name);
      const isPacked = fixture.shape(required(current, "q")).length === 3;
      yield* isPacked ? packed(current) : dense(current);
    }
  },
};
