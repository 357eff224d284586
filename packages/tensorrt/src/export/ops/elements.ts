import { type ExportContext, type NamedRow, tokenClipOf } from "../context";
import { withoutNan } from "./codes";
import { activated, addTokenBias, scaled } from "./epilogue";

/** act(aScale · a + bScale · b · c + frameBias). */
export function pointwise(c: ExportContext, { inputs, attrs, output, name }: NamedRow): void {
  let y = scaled(c, c.read(inputs.a!, name).rows(), attrs.aScale as number);
  if (inputs.b) {
    const b = c.read(inputs.b, name).rows();
    const product = inputs.c ? c.writer.node("Mul", [b, c.read(inputs.c, name).rows()]) : b;
    y = c.writer.node("Add", [y, scaled(c, product, attrs.bScale as number)]);
  }
  if (inputs.frameBias) y = addTokenBias(c, y, inputs.frameBias, tokenClipOf(output), name);
  c.write(output, c.rows(activated(c, y, attrs.act as string), output.dims[3]!));
}

/** Another name for the same values: ONNX has no places to copy to. */
export function copy(c: ExportContext, { inputs, output, name }: NamedRow): void {
  c.write(output, c.read(inputs.x!, name));
}

/** Cosines, then sines of geometric frequencies, in float32 as the contract says; then the model's type. */
export function timestepEmbedding(c: ExportContext, { inputs, attrs, output, name }: NamedRow): void {
  const width = attrs.width as number;
  const half = width / 2;
  const rate = Math.fround(-Math.log(attrs.maxPeriod as number));
  const divisor = half - (attrs.downscaleShift as number);
  const exponent = (i: number) => Math.fround(Math.fround(rate * i) / divisor);
  const frequencies = Float32Array.from({ length: half }, (_, i) => Math.exp(exponent(i)));
  const key = `frequencies[${half},${attrs.maxPeriod},${attrs.downscaleShift}]`;
  const t = c.widened(c.regroup(c.read(inputs.t!, name).rows(), 1));
  const angles = c.writer.node("Mul", [t, c.writer.floats(key, frequencies, [1, half])]);
  const waves = ["Cos", "Sin"].map((op) => c.writer.node(op, [angles]));
  const y = c.writer.node("Concat", waves, { axis: 1 });
  c.write(output, c.rows(c.type === "float" ? y : c.cast(y, "float16"), width));
}

/** The class token before the others, then the position embeddings on all. */
export function tokenEmbed(c: ExportContext, { inputs, output, name }: NamedRow): void {
  const [b, f, s, channels] = inputs.x!.dims as [number, number, number, number];
  const token = c.parameter(inputs.token!, "class_embedding", name);
  const position = c.parameter(inputs.position!, "position_embedding.weight", name);
  const first = c.writer.node("Expand", [token, c.sizes.shape([b * f, 1, channels], [1, 2], false)]);
  const all = c.writer.node("Concat", [first, c.read(inputs.x!, name).grid([b * f, s, channels], 1)], { axis: 1 });
  c.write(output, c.rows(c.regroup(c.writer.node("Add", [all, position]), channels), channels));
}

/** Latents [1,F,H,W,C] with a picture's behind them on every frame, in each of `numRows` rows; with two rows the first has
 *  zeros instead of the picture. Returns [rows · F · H · W, channels of both]. */
export function withPicture(
  c: ExportContext,
  { inputs: { image }, name }: NamedRow,
  { latents, dims, numRows }: { latents: string; dims: readonly number[]; numRows: number },
): string {
  const [, f, h, w, channels] = dims as [number, number, number, number, number];
  const beside = (images: string) => c.writer.node("Concat", [latents, images], { axis: 4 });
  const rows = (all: readonly string[], width: number) =>
    c.regroup(all.length === 1 ? all[0]! : c.writer.node("Concat", all, { axis: 0 }), width);
  if (!image) return rows(new Array<string>(numRows).fill(latents), channels);
  const imageChannels = image.dims[4]!;
  const picture = c.narrowed(c.read(image, name).grid([1, 1, h, w, imageChannels]));
  const shape = c.sizes.shape([1, f, h, w, imageChannels], [0, 4], false);
  const images = c.writer.node("Expand", [picture, shape]);
  const unconditional = numRows === 2 ? [beside(c.writer.node("Expand", [c.scalar(0), shape]))] : [];
  return rows([...unconditional, beside(images)], channels + imageChannels);
}

/** Noisy latents times a factor, the picture's latents behind them. */
export function denoiseInput(c: ExportContext, row: NamedRow): void {
  const { inputs, attrs, output, name } = row;
  const { dims } = inputs.latents!;
  const factor = c.narrowed(c.read(inputs.inputScale!, name).grid([1], 0));
  const latents = c.writer.node("Mul", [c.read(inputs.latents!, name).grid(dims), factor]);
  c.write(output, c.rows(withPicture(c, row, { latents, dims, numRows: attrs.rows as number }), output.dims[4]!));
}

/** The row of a pair [2,F,H,W,C] that stands for no conditions, moved away from it by a scale for each frame, [F]. */
export function guidedPair(c: ExportContext, both: string, scale: string, frames: number): string {
  const [first, second] = [c.part(both, 0, 0, 1), c.part(both, 0, 1, 2)];
  const perFrame = c.writer.node("Reshape", [scale, c.sizes.shape([1, frames, 1, 1, 1])]);
  const step = c.writer.node("Mul", [c.writer.node("Sub", [second, first]), perFrame]);
  return c.writer.node("Add", [first, step]);
}

/** unconditional + scale[f] · (conditional − unconditional). */
export function guide(c: ExportContext, { inputs, output, name }: NamedRow): void {
  const channels = output.dims[4]!;
  const scale = c.narrowed(c.read(inputs.scale!, name).rows());
  const y = guidedPair(c, c.read(inputs.x!, name).grid(inputs.x!.dims), scale, inputs.x!.dims[1]!);
  c.write(output, c.rows(c.regroup(y, channels), channels));
}

/** Frames as levels of 8 bits: clamp(x/2 + 0.5, 0, 1) · 255, halves to even; NaN is 0. */
export function framesOut(c: ExportContext, { inputs, output, name }: NamedRow): void {
  const [zero, half, one] = [0, 0.5, 1].map((number) => c.wideScalar(number)) as [string, string, string];
  const x = c.writer.node("Mul", [c.widened(c.read(inputs.x!, name).rows()), half]);
  const unit = withoutNan(c, c.writer.node("Add", [x, half]));
  const within = c.writer.node("Clip", [unit, zero, one]);
  const levels = c.writer.node("Round", [c.writer.node("Mul", [within, c.wideScalar(255)])]);
  c.write(output, c.rows(c.narrowed(levels), output.dims[4]!));
}
