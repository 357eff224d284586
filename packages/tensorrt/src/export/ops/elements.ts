import { clipOf, type ExportContext, type NamedRow, tokenClipOf } from "../context";
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
  const t = c.regroup(c.read(inputs.t!, name).rows(), 1);
  const angles = c.writer.node("Mul", [t, c.writer.floats(key, frequencies, [1, half])]);
  const waves = ["Cos", "Sin"].map((op) => c.writer.node(op, [angles]));
  const y = c.writer.node("Concat", waves, { axis: 1 });
  c.write(output, c.rows(c.type === "float" ? y : c.cast(y, "float16"), width));
}

/** The class token before the others, then the position embeddings on all. */
export function tokenEmbed(c: ExportContext, { inputs, output, name }: NamedRow): void {
  const [b, f, s, channels] = inputs.x!.dims as [number, number, number, number];
  const token = c.weights.add(`${name}.class_embedding`, inputs.token!);
  const position = c.weights.add(`${name}.position_embedding.weight`, inputs.position!);
  const first = c.writer.node("Expand", [token, c.sizes.shape([b * f, 1, channels], [1, 2], false)]);
  const all = c.writer.node("Concat", [first, c.read(inputs.x!, name).grid([b * f, s, channels], 1)], { axis: 1 });
  c.write(output, c.rows(c.regroup(c.writer.node("Add", [all, position]), channels), channels));
}

/** Noisy latents times a factor, the picture's latents behind them on every frame; with two rows the first has zeros
 *  instead of the picture. */
export function denoiseInput(c: ExportContext, { inputs, attrs, output, name }: NamedRow): void {
  const [, f, h, w, channels] = inputs.latents!.dims as [number, number, number, number, number];
  const imageChannels = inputs.image!.dims[4]!;
  const factor = c.read(inputs.inputScale!, name).grid([1], 0);
  const typed = c.type === "float" ? factor : c.cast(factor, "float16");
  const latents = c.writer.node("Mul", [c.read(inputs.latents!, name).grid([1, f, h, w, channels]), typed]);
  const picture = c.read(inputs.image!, name).grid([1, 1, h, w, imageChannels]);
  const shape = c.sizes.shape([1, f, h, w, imageChannels], [0, 4], false);
  const images = c.writer.node("Expand", [picture, shape]);
  const conditional = c.writer.node("Concat", [latents, images], { axis: 4 });
  const rows = attrs.rows === 2 ? [c.writer.node("Concat", [latents, scaled(c, images, 0)], { axis: 4 })] : [];
  const all = [...rows, conditional];
  const y = all.length === 1 ? all[0]! : c.writer.node("Concat", all, { axis: 0 });
  c.write(output, c.rows(c.regroup(y, channels + imageChannels), channels + imageChannels));
}

/** unconditional + scale[f] · (conditional − unconditional). */
export function guide(c: ExportContext, { inputs, output, name }: NamedRow): void {
  const [b, f, h, w] = clipOf(inputs.x!);
  const channels = output.dims[4]!;
  const both = c.read(inputs.x!, name).grid([b, f, h, w, channels]);
  const row = (i: number) =>
    c.writer.node("Slice", [both, c.writer.ints([i]), c.writer.ints([i + 1]), c.writer.ints([0])]);
  const scale = c.read(inputs.scale!, name).grid([f, 1], 1);
  const typed = c.type === "float" ? scale : c.cast(scale, "float16");
  const perFrame = c.writer.node("Reshape", [typed, c.sizes.shape([1, f, 1, 1, 1])]);
  const step = c.writer.node("Mul", [c.writer.node("Sub", [row(1), row(0)]), perFrame]);
  c.write(output, c.rows(c.regroup(c.writer.node("Add", [row(0), step]), channels), channels));
}
