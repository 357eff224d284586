import { type ExportContext, type NamedRow, unmapped } from "../context";
import { scaled } from "./epilogue";

/** Sizes of one attention call, heads apart. */
interface Heads {
  b: number;
  f: number;
  s: number;
  heads: number;
  width: number;
}

/** Tokens with heads apart, moved by `perm`. dims: the leading sizes. */
function split(c: ExportContext, x: string, dims: readonly number[], { heads, width }: Heads, perm: readonly number[]) {
  const all = [...dims, heads, width];
  const shaped = c.writer.node("Reshape", [x, c.sizes.shape(all, [all.length - 2, all.length - 1])]);
  return c.writer.node("Transpose", [shaped], { perm });
}

/** softmax(q kᵀ) v, q scaled before the product so that float16 does not overflow in it. */
function attend(c: ExportContext, q: string, kTransposed: string, v: string, row: NamedRow): string {
  const { attrs, inputs } = row;
  let scores = c.writer.node("MatMul", [scaled(c, q, attrs.scale as number), kTransposed]);
  if (inputs.mask) scores = c.writer.node("Add", [scores, c.read(inputs.mask, row.name).grid(inputs.mask.dims, 4)]);
  return c.writer.node("MatMul", [c.writer.node("Softmax", [scores], { axis: -1 }), v]);
}

/** Tokens of a frame see each other, or one frame's keys serve all frames. Results: [B·F·S, E]. */
function overSpace(c: ExportContext, row: NamedRow, { b, f, s, heads, width }: Heads): string {
  const { inputs, name } = row;
  const [, fk, l] = inputs.k!.dims as [number, number, number];
  // With keys of one frame the queries of all frames are one long list.
  const [batch, tokens] = fk === f ? [b * f, s] : [b, f * s];
  const apart = { b, f, s, heads, width };
  const q = split(c, c.read(inputs.q!, name).rows(), [batch, tokens], apart, [0, 2, 1, 3]);
  const k = split(c, c.read(inputs.k!, name).rows(), [batch, l], apart, [0, 2, 3, 1]);
  const v = split(c, c.read(inputs.v!, name).rows(), [batch, l], apart, [0, 2, 1, 3]);
  const y = c.writer.node("Transpose", [attend(c, q, k, v, row)], { perm: [0, 2, 1, 3] });
  return c.regroup(y, heads * width);
}

/** A token sees itself in other frames. Results: [B·F·S, E]. */
function overTime(c: ExportContext, row: NamedRow, sizes: Heads): string {
  const { b, f, s, heads, width } = sizes;
  const { inputs, name } = row;
  const fk = inputs.k!.dims[1]!;
  const q = split(c, c.read(inputs.q!, name).rows(), [b, f, s], sizes, [0, 2, 3, 1, 4]);
  const k = split(c, c.read(inputs.k!, name).rows(), [b, fk, s], sizes, [0, 2, 3, 4, 1]);
  const v = split(c, c.read(inputs.v!, name).rows(), [b, fk, s], sizes, [0, 2, 3, 1, 4]);
  const y = c.writer.node("Transpose", [attend(c, q, k, v, row)], { perm: [0, 3, 1, 2, 4] });
  return c.regroup(y, heads * width);
}

/** Attention as two products and a softmax: the form that runtimes replace by a fused kernel. */
export function attention(c: ExportContext, row: NamedRow): void {
  const { inputs, attrs, output, name } = row;
  if (inputs.cuQ) throw unmapped(row.op, name, "sequences of one length", "packed sequences");
  if (attrs.causal) throw unmapped(row.op, name, "attention to all keys", "causal attention");
  if (inputs.mask && (inputs.mask.dtype === "u8" || output.dims[1] !== 1))
    throw unmapped(
      row.op,
      name,
      "a mask of floats over one frame",
      `${inputs.mask.dtype} over ${output.dims[1]} frames`,
    );
  const [b, f, s, channels] = output.dims as [number, number, number, number];
  const heads = attrs.heads as number;
  const sizes = { b, f, s, heads, width: channels / heads };
  c.write(output, c.rows(attrs.axis === "time" ? overTime(c, row, sizes) : overSpace(c, row, sizes), channels));
}
