import { toFloat16Array } from "@vd/tensor";
import { type ExportContext, type NamedRow, unmapped } from "../context";
import { preparedHeads } from "./attention-heads";
import { sight, softmaxOfSeen } from "./attention-sight";
import { scaled } from "./epilogue";

/** Sizes of one attention call, heads apart. */
interface Heads {
  b: number;
  f: number;
  s: number;
  heads: number;
  width: number;
}

/** Tokens of an operand with heads apart, as the product takes them, moved by `perm`. dims: the leading sizes, the second one
 *  that of the sequence. */
function split(
  c: ExportContext,
  row: NamedRow,
  operand: "q" | "k" | "v",
  { dims, heads, width, perm }: { dims: readonly number[]; heads: number; width: number; perm: readonly number[] },
) {
  const all = [...dims, heads, width];
  const x = c.read(row.inputs[operand]!, row.name).rows();
  const shaped = c.writer.node("Reshape", [x, c.sizes.shape(all, [all.length - 2, all.length - 1])]);
  const prepared = operand === "v" ? shaped : preparedHeads(c, row, operand, { name: shaped, dims: all });
  return c.writer.node("Transpose", [prepared], { perm });
}

/** Frame, row and column of element `i` of a sequence. */
const onGrid = (i: number, [rows, columns]: readonly number[]) =>
  [Math.floor(i / (rows! * columns!)), Math.floor(i / columns!) % rows!, i % columns!] as const;

/** What the causal limit and the window add to the scores [queries, keys], as a constant; undefined where they add nothing. */
function hidden(c: ExportContext, row: NamedRow, queries: number, keys: number): string | undefined {
  const { causal, window, grid } = row.attrs as { causal: boolean; window: readonly number[]; grid: readonly number[] };
  // Of packed sequences `sight` knows what they see.
  if (row.inputs.cuQ || (!causal && window.every((reach) => reach === 0))) return undefined;
  if (!c.sizes.isFixed(queries) || !c.sizes.isFixed(keys))
    throw unmapped(
      row.op,
      row.name,
      "fixed lengths of causal and local sequences",
      `${queries} and ${keys} when recorded`,
    );
  const sees = (query: number, key: number) => {
    const [from, to] = [onGrid(query, grid), onGrid(key, grid)];
    return !(causal && key > query) && window.every((reach, i) => reach === 0 || Math.abs(from[i]! - to[i]!) < reach);
  };
  const values = Float32Array.from({ length: queries * keys }, (_, i) =>
    sees(Math.floor(i / keys), i % keys) ? 0 : Number.NEGATIVE_INFINITY,
  );
  for (let query = 0; query < queries; query++)
    if (values.subarray(query * keys, (query + 1) * keys).every((value) => value !== 0))
      throw unmapped(row.op, row.name, "queries that see a key", `query ${query}, which sees none`);
  const name = `visible[${queries},${keys},${causal},${window},${grid}]`;
  const data = c.type === "float" ? values : toFloat16Array(values);
  return c.writer.constant(name, [queries, keys], c.type, new Uint8Array(data.buffer));
}

/** softmax(q kᵀ + mask) v, q scaled before the product so that float16 does not overflow in it. maskDims: those under which
 *  the mask is added to the scores; queries, keys: of a sequence. */
function attend(
  c: ExportContext,
  [q, kTransposed, v]: readonly [string, string, string],
  row: NamedRow,
  { maskDims, queries, keys }: { maskDims: readonly number[]; queries: number; keys: number },
): string {
  const { attrs, inputs, name } = row;
  let scores = c.writer.node("MatMul", [scaled(c, q, attrs.scale as number), kTransposed]);
  if (inputs.mask && inputs.mask.dtype !== "u8")
    scores = c.writer.node("Add", [scores, c.read(inputs.mask, name).grid(maskDims, 1)]);
  const visible = hidden(c, row, queries, keys);
  if (visible !== undefined) scores = c.writer.node("Add", [scores, visible]);
  const seen = sight(c, row, { maskDims, queries, keys });
  const weights =
    seen === undefined ? c.writer.node("Softmax", [scores], { axis: -1 }) : softmaxOfSeen(c, scores, seen);
  return c.writer.node("MatMul", [weights, v]);
}

/** Tokens of a frame see each other, or one frame's keys serve all frames. Results: [B·F·S, E]. */
function overSpace(c: ExportContext, row: NamedRow, { b, f, s, heads, width }: Heads): string {
  const { inputs } = row;
  const [, fk, l] = inputs.k!.dims as [number, number, number];
  // With keys of one frame the queries of all frames are one long list.
  const [batch, tokens] = fk === f ? [b * f, s] : [b, f * s];
  requireMask(row, { batch, queries: tokens });
  const apart = { heads, width };
  const q = split(c, row, "q", { dims: [batch, tokens], ...apart, perm: [0, 2, 1, 3] });
  const k = split(c, row, "k", { dims: [batch, l], ...apart, perm: [0, 2, 3, 1] });
  const v = split(c, row, "v", { dims: [batch, l], ...apart, perm: [0, 2, 1, 3] });
  const shape = { maskDims: inputs.mask?.dims ?? [], queries: tokens, keys: l };
  const y = c.writer.node("Transpose", [attend(c, [q, k, v], row, shape)], { perm: [0, 2, 1, 3] });
  return c.regroup(y, heads * width);
}

/** A token sees itself in other frames. Results: [B·F·S, E]. */
function overTime(c: ExportContext, row: NamedRow, sizes: Heads): string {
  const { b, f, s, heads, width } = sizes;
  const { inputs } = row;
  const fk = inputs.k!.dims[1]!;
  const q = split(c, row, "q", { dims: [b, f, s], heads, width, perm: [0, 2, 3, 1, 4] });
  const k = split(c, row, "k", { dims: [b, fk, s], heads, width, perm: [0, 2, 3, 4, 1] });
  const v = split(c, row, "v", { dims: [b, fk, s], heads, width, perm: [0, 2, 3, 1, 4] });
  const [maskB = 1, ...perHead] = inputs.mask?.dims ?? [];
  const shape = { maskDims: [maskB, 1, ...perHead], queries: f, keys: fk };
  const y = c.writer.node("Transpose", [attend(c, [q, k, v], row, shape)], { perm: [0, 3, 1, 2, 4] });
  return c.regroup(y, heads * width);
}

/** Scores over space are [batch, heads, queries, keys]: what differs by clip or by place in a frame must fit them.
 *  @throws VdError `unsupported` */
function requireMask(row: NamedRow, { batch, queries }: { batch: number; queries: number }): void {
  const { inputs, attrs, output } = row;
  const [b, f, s] = output.dims as [number, number, number];
  const [maskB = 1, , maskQ = 1] = inputs.mask?.dims ?? [];
  const isByPlace =
    maskQ !== 1 ||
    attrs.causal ||
    inputs.cuQ !== undefined ||
    (attrs.window as readonly number[]).some((reach) => reach > 0);
  if ((maskB === 1 || batch === b) && (!isByPlace || queries === s)) return;
  throw unmapped(
    row.op,
    row.name,
    "a mask that is the same for all frames, and frames with keys of their own",
    `${f} frames`,
  );
}

/** Attention as two products and a softmax: the form that runtimes replace by a fused kernel. */
export function attention(c: ExportContext, row: NamedRow): void {
  const { attrs, output } = row;
  const [b, f, s, channels] = output.dims as [number, number, number, number];
  const heads = attrs.heads as number;
  const sizes = { b, f, s, heads, width: channels / heads };
  c.write(output, c.rows(attrs.axis === "time" ? overTime(c, row, sizes) : overSpace(c, row, sizes), channels));
}
