// What the 8-bit ops share: numbers rounded to codes and codes as numbers. Inside a model codes are numbers of its type that
// a pair of QuantizeLinear and DequantizeLinear with a scale of 1 has rounded: the standard divides by scales, where the ops
// multiply with inverses that are rounded to float32.
import { CODE_TYPES, type CodeType } from "../../onnx/weight-source";
import type { ExportContext, NamedRow } from "../context";

/** Channels that share a scale of `per: "block"`. */
export const BLOCK = 128;

/** The largest code of each type. */
const LARGEST = { f8e4m3: 448, i8: 127 } as const;

const zeroOf = (c: ExportContext, type: CodeType) =>
  c.writer.constant(`zero:${CODE_TYPES[type]}`, [], CODE_TYPES[type], new Uint8Array(1));

/** Codes in a type of 8 bits as float32 numbers. */
const decoded = (c: ExportContext, codes: string): string =>
  c.writer.node("DequantizeLinear", [codes, c.wideScalar(1)]);

/** A row's weight in 8 bits as the float32 numbers of its codes, in the weight's own dimensions. */
export function codesOfWeight(c: ExportContext, { inputs, name }: NamedRow): string {
  const weight = inputs.weight!;
  if (weight.storage.kind !== "weights") return c.widened(c.read(weight, name).grid(weight.dims, 0));
  return decoded(c, c.weights.addCodes(`${name}.weight`, weight));
}

/** x, or 0 where it is NaN. */
export const withoutNan = (c: ExportContext, x: string): string =>
  c.writer.node("Where", [c.writer.node("IsNaN", [x]), c.wideScalar(0), x]);

/** Numbers rounded to codes, halves to even, saturating; NaN becomes 0 in i8 and stays in f8e4m3. x: float32. */
export function rounded(c: ExportContext, x: string, type: CodeType): string {
  const limits = [-LARGEST.i8, LARGEST.i8].map((limit) => c.wideScalar(limit));
  // The standard's int8 has a code more, -128.
  const within = type === "i8" ? c.writer.node("Clip", [withoutNan(c, x), ...limits]) : x;
  return decoded(c, c.writer.node("QuantizeLinear", [within, c.wideScalar(1), zeroOf(c, type)]));
}

/** x · (1 / scale) rounded to codes. x, scale: float32. */
export function coded(c: ExportContext, x: string, scale: string, type: CodeType): string {
  // As 2 / (2 · scale), which has the same bits: Reciprocal may be an approximation, and ONNX Runtime makes x / scale of
  // x · (1 / scale).
  const inverse = c.writer.node("Div", [c.wideScalar(2), c.writer.node("Add", [scale, scale])]);
  return rounded(c, c.writer.node("Mul", [x, inverse]), type);
}

/** Scales by the largest magnitudes along `axes`, which stay with a size of 1; all axes where none are named. */
export function scalesOf(c: ExportContext, x: string, axes: readonly number[], type: CodeType): string {
  const magnitudes = withoutNan(c, c.writer.node("Abs", [x]));
  const operands = axes.length > 0 ? [magnitudes, c.writer.ints(axes)] : [magnitudes];
  const largest = c.writer.node("ReduceMax", operands, { keepdims: 1 });
  return c.writer.node("Max", [c.writer.node("Div", [largest, c.wideScalar(LARGEST[type])]), c.wideScalar(2 ** -126)]);
}

/** Tokens in blocks of channels, the last filled up with zeros: [tokens, C] → [tokens, blocks, 128]. */
export function inBlocks(c: ExportContext, x: string, channels: number): string {
  const missing = (BLOCK - (channels % BLOCK)) % BLOCK;
  const full = missing > 0 ? c.writer.node("Pad", [x, c.writer.ints([0, 0, 0, missing])]) : x;
  return c.writer.node("Reshape", [full, c.writer.ints([-1, (channels + missing) / BLOCK, BLOCK])]);
}

/** The opposite of {@link inBlocks}. */
export function outOfBlocks(c: ExportContext, x: string, channels: number): string {
  const all = c.regroup(x, Math.ceil(channels / BLOCK) * BLOCK);
  return channels % BLOCK === 0 ? all : c.part(all, 1, 0, channels);
}
