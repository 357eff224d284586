import type { Tensor } from "@vd/tensor";
import type { ExportContext, NamedRow } from "../context";
import { preparedHeads } from "./attention-heads";
import type { ScoreShape } from "./attention-sight";

/** Sizes of one attention call. */
export interface AttentionSizes {
  readonly b: number;
  readonly f: number;
  readonly s: number;
  /** Frames and tokens of the keys. */
  readonly fk: number;
  readonly l: number;
  readonly heads: number;
  readonly width: number;
}

/** How tokens become sequences with heads apart, and results tokens again. */
export interface AttentionLayout extends ScoreShape {
  /** Dimensions of queries and of keys with heads apart, and the same with frames apart; the latter default to the former. */
  readonly dimsQ: readonly number[];
  readonly dimsK: readonly number[];
  readonly apartQ?: readonly number[];
  readonly apartK?: readonly number[];
  /** Order in which products take queries and values, and keys transposed. */
  readonly permQ: readonly number[];
  readonly permKTransposed: readonly number[];
  /** Order of a result's axes as tokens. */
  readonly permY: readonly number[];
}

/** The sizes of a row of attention. */
export function sizesOf({ inputs, attrs }: NamedRow): AttentionSizes {
  const [b, f, s, channels] = inputs.q!.dims as [number, number, number, number];
  const [, fk, l] = inputs.k!.dims as [number, number, number];
  const heads = attrs.heads as number;
  return { b, f, s, fk, l, heads, width: channels / heads };
}

const maskDimsOf = (mask: Tensor | undefined, at: number): number[] => {
  if (!mask) return [];
  const [b, ...others] = mask.dims as [number, number, number, number];
  return at === 4 ? [b, ...others] : [b, 1, ...others];
};

/** A token sees itself in other frames. */
function overTime({ b, f, s, fk, heads, width }: AttentionSizes, mask: Tensor | undefined): AttentionLayout {
  return {
    ...{ dimsQ: [b, f, s, heads, width], dimsK: [b, fk, s, heads, width] },
    ...{ permQ: [0, 2, 3, 1, 4], permKTransposed: [0, 2, 3, 4, 1], permY: [0, 3, 1, 2, 4] },
    ...{ maskDims: maskDimsOf(mask, 5), queries: f, keys: fk },
  };
}

/** Tokens of a frame see each other, frames an axis of their own: any mask is broadcast, and one frame of keys serves all. */
function overSpaceApart({ b, f, s, fk, l, heads, width }: AttentionSizes, mask: Tensor | undefined): AttentionLayout {
  return {
    ...{ dimsQ: [b * f, s, heads, width], dimsK: [b * fk, l, heads, width] },
    ...{ apartQ: [b, f, s, heads, width], apartK: [b, fk, l, heads, width] },
    ...{ permQ: [0, 1, 3, 2, 4], permKTransposed: [0, 1, 3, 4, 2], permY: [0, 1, 3, 2, 4] },
    ...{ maskDims: maskDimsOf(mask, 5), queries: s, keys: l },
  };
}

/** The same with as few axes as runtimes have fused kernels for. With keys of one frame the queries of all frames are one
 *  long list. */
function overSpace({ b, f, s, fk, l, heads, width }: AttentionSizes, mask: Tensor | undefined): AttentionLayout {
  const [batch, queries] = fk === f ? [b * f, s] : [b, f * s];
  return {
    ...{ dimsQ: [batch, queries, heads, width], dimsK: [batch, l, heads, width] },
    ...{ permQ: [0, 2, 1, 3], permKTransposed: [0, 2, 3, 1], permY: [0, 2, 1, 3] },
    ...{ maskDims: maskDimsOf(mask, 4), queries, keys: l },
  };
}

/** True where frames and clips must be told apart: what differs by clip, or by place in a frame whose keys are all frames'. */
function needsFrames({ inputs, attrs, outputs }: NamedRow, { f, fk }: AttentionSizes): boolean {
  const [maskB = 1, , maskQ = 1] = inputs.mask?.dims ?? [];
  if (fk === f) return f > 1 && maskB > 1;
  const isByPlace = maskQ !== 1 || attrs.causal === true || inputs.cuQ || inputs.rotaryQ || outputs.lse;
  return Boolean(isByPlace) || (attrs.window as readonly number[]).some((reach) => reach > 0);
}

/** The layout of a row. */
export function layoutOf(row: NamedRow): AttentionLayout {
  const [sizes, { mask }] = [sizesOf(row), row.inputs];
  if (row.attrs.axis === "time") return overTime(sizes, mask);
  return needsFrames(row, sizes) ? overSpaceApart(sizes, mask) : overSpace(sizes, mask);
}

/** The layout with frames apart, in which gradients of keys are summed over frames. */
export function layoutApart(row: NamedRow): AttentionLayout {
  const [sizes, { mask }] = [sizesOf(row), row.inputs];
  return row.attrs.axis === "time" ? overTime(sizes, mask) : overSpaceApart(sizes, mask);
}

const shaped = (c: ExportContext, name: string, dims: readonly number[]) =>
  c.writer.node("Reshape", [name, c.sizes.shape(dims, [dims.length - 2, dims.length - 1])]);

/** Tokens with heads apart as products take them: queries, keys transposed (`kTransposed`) or not, values. name: [tokens, E]. */
export function apart(
  c: ExportContext,
  row: NamedRow,
  layout: AttentionLayout,
  { name, as }: { name: string; as: "q" | "k" | "kTransposed" | "v" },
): string {
  const isQuery = as === "q";
  const dims = isQuery ? layout.dimsQ : layout.dimsK;
  const split = shaped(c, name, dims);
  const prepared = as === "v" ? split : preparedHeads(c, row, isQuery ? "q" : "k", { name: split, dims });
  const framed = isQuery ? layout.apartQ : layout.apartK;
  const frames = framed ? shaped(c, prepared, framed) : prepared;
  const perm = as === "kTransposed" ? layout.permKTransposed : layout.permQ;
  return c.writer.node("Transpose", [frames], { perm });
}

/** A result with heads apart as tokens, [tokens, E]. */
export function together(c: ExportContext, layout: AttentionLayout, y: string, channels: number): string {
  return c.regroup(c.writer.node("Transpose", [y], { perm: layout.permY }), channels);
}

/** One number for each query as rows of [·, S], from [… heads, queries, 1] in the row's layout. */
export function perQuery(c: ExportContext, row: NamedRow, x: string): string {
  const { b, f, s, heads } = sizesOf(row);
  if (row.attrs.axis !== "time") return c.regroup(x, s);
  const split = c.writer.node("Reshape", [x, c.sizes.shape([b, s, heads, f], [2])]);
  return c.regroup(c.writer.node("Transpose", [split], { perm: [0, 3, 2, 1] }), s);
}
