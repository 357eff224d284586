import type { Tensor } from "@vd/tensor";
import type { ExportContext, NamedRow } from "../context";
import type { ClipSizes, Form } from "../value";

/** x times a number, unless that is 1. */
export function scaled(c: ExportContext, x: string, factor: number): string {
  return factor === 1 ? x : c.writer.node("Mul", [x, c.scalar(factor)]);
}

/** What the second half of a gated activation's channels goes through. */
const GATES: Readonly<Record<string, string>> = { geglu: "gelu", swiglu: "silu" };

/** True for an activation that multiplies the first half of the channels by a function of the second. */
export const isGated = (act: unknown): boolean => typeof act === "string" && act in GATES;

/** An activation function other than the gated ones. Sources: contract/epilogue.ts; onnx Gelu-20. */
export function activated(c: ExportContext, x: string, act: string): string {
  const gate = (inner: string) => c.writer.node("Mul", [x, c.writer.node("Sigmoid", [inner])]);
  switch (act) {
    case "silu":
      return gate(x);
    case "quick_gelu":
      return gate(scaled(c, x, 1.702));
    case "gelu":
      return c.writer.node("Gelu", [x]);
    case "gelu_tanh":
      return c.writer.node("Gelu", [x], { approximate: "tanh" });
    case "relu":
      return c.writer.node("Relu", [x]);
    default:
      return x;
  }
}

/** A product of [·, N] as its first half times a function of its second: [·, N/2]. */
export function gated(c: ExportContext, x: string, width: number, act: string): string {
  const half = width / 2;
  const part = (begin: number, end: number) =>
    c.writer.node("Slice", [x, c.writer.ints([begin]), c.writer.ints([end]), c.writer.ints([1])]);
  return c.writer.node("Mul", [part(0, half), activated(c, part(half, width), GATES[act]!)]);
}

/** A bias per clip and frame, [1|B, 1|F, K], in a shape that a picture or clip takes. */
function pictureBias(c: ExportContext, bias: Tensor, form: Form, [b, f]: ClipSizes, row: string) {
  const [biasB, biasF, channels] = bias.dims as [number, number, number];
  const value = c.read(bias, row);
  const shaped = (dims: readonly number[], channelAxis: number) =>
    c.writer.node("Reshape", [value.rows(), c.sizes.shape(dims, [channelAxis])]);
  if (form === "clips") {
    if (biasF === 1) return shaped([biasB, channels, 1, 1, 1], 1);
    const framesLast = c.writer.node("Transpose", [value.grid([biasB, biasF, channels])], { perm: [0, 2, 1] });
    return c.writer.node("Reshape", [framesLast, c.sizes.shape([biasB, channels, biasF, 1, 1], [1])]);
  }
  const serves = biasB * biasF === 1 || (biasB === b && biasF === f);
  return serves ? shaped([biasB * biasF, channels, 1, 1], 1) : undefined;
}

/** Adds a bias per clip and frame to a picture or clip. x: [B·F,K,P,Q] or [B,K,F,P,Q] by `form`. */
export function addFrameBias(
  c: ExportContext,
  x: string,
  bias: Tensor,
  form: "planes" | "clips",
  clip: ClipSizes,
  row: string,
): string {
  const shaped = pictureBias(c, bias, form, clip, row);
  if (shaped !== undefined) return c.writer.node("Add", [x, shaped]);
  // One bias for several frames, or the other way round: frames and clips must be axes of their own.
  const [b, f, h, w] = clip;
  const [biasB, biasF, channels] = bias.dims as [number, number, number];
  const dims = [b, f, channels, h, w];
  const split = c.writer.node("Reshape", [x, c.sizes.shape(dims, [2])]);
  const biasDims = [biasB, biasF, channels, 1, 1];
  const added = c.writer.node("Add", [
    split,
    c.writer.node("Reshape", [c.read(bias, row).rows(), c.sizes.shape(biasDims, [2])]),
  ]);
  return c.writer.node("Reshape", [added, c.sizes.shape([b * f, channels, h, w], [1])]);
}

/** Adds a bias per clip and frame to tokens. x: [B·F·S, K]. */
export function addTokenBias(c: ExportContext, x: string, bias: Tensor, [b, f, , s]: ClipSizes, row: string): string {
  const [biasB, biasF, channels] = bias.dims as [number, number, number];
  const value = c.read(bias, row);
  const isOne = biasB === 1 && biasF === 1;
  if (isOne || (s === 1 && biasB === b && biasF === f)) return c.writer.node("Add", [x, value.rows()]);
  const split = c.writer.node("Reshape", [x, c.sizes.shape([b, f, s, channels], [3])]);
  const shaped = c.writer.node("Reshape", [value.rows(), c.sizes.shape([biasB, biasF, 1, channels], [3])]);
  return c.regroup(c.writer.node("Add", [split, shaped]), channels);
}

/** What the epilogue does behind the biases: outScale · act(x) + residualScale · residual + residual2Scale · residual2,
 *  everything in the same form. */
export function finish(c: ExportContext, row: NamedRow, x: string, form: Form, clip: ClipSizes): string {
  const { attrs, inputs } = row;
  let y = isGated(attrs.act) ? x : activated(c, x, attrs.act as string);
  y = scaled(c, y, attrs.outScale as number);
  for (const name of ["residual", "residual2"] as const) {
    const operand = inputs[name];
    if (!operand) continue;
    const value = c.read(operand, row.name).as(form, clip);
    y = c.writer.node("Add", [y, scaled(c, value, attrs[`${name}Scale`] as number)]);
  }
  return y;
}
