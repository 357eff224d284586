import { channelRange, type Tensor } from "@vd/tensor";
import { type ExportContext, type NamedRow, tokenClipOf } from "../context";
import type { ClipSizes, Value } from "../value";
import { addTokenBias, finish, gated, isGated } from "./epilogue";
import { layerNormOf } from "./norms";

/** The checkpoint stores these projections as convolutions of one pixel. */
const isStoredAsConv = (name: string) => /(^|\.)conv_shortcut$/.test(name);

/** A matrix product of tokens: Gemm on [tokens, C]; for a convolution's weights on pictures, Conv. */
export const linear = (c: ExportContext, row: NamedRow): void =>
  product(c, row, joined(c, row, tokenClipOf(row.output)));

/** The tokens of a row that normalises them itself: [tokens, C]. */
export function normedTokens(c: ExportContext, row: NamedRow): string {
  const { x, normWeight: weight, normBias: bias } = row.inputs;
  return layerNormOf(c, { ...row, name: `${row.name}.norm`, inputs: { x, weight, bias }, output: x! });
}

/** A norm of tokens, then a matrix product of them. */
export const layerNormLinear = (c: ExportContext, row: NamedRow): void =>
  product(c, row, c.rows(normedTokens(c, row), row.inputs.x!.dims[3]!));

/** The product of tokens x, or of a picture's pixels, with everything behind it. */
function product(c: ExportContext, row: NamedRow, x: Value): void {
  const { inputs, attrs, name } = row;
  const path = name.slice(0, Math.max(name.lastIndexOf("."), 0));
  const isBare = !inputs.residual && !inputs.residual2 && !inputs.frameBias;
  const isPlain = isBare && attrs.act === "none" && attrs.outScale === 1;
  if (isPlain && c.weights.partsOf(inputs.weight!, path)) stackedLinear(c, row, x.rows(), path);
  else if (x.native === "planes" && isStoredAsConv(name) && !inputs.frameBias && !isGated(attrs.act))
    pictureLinear(c, row, x);
  else tokenLinear(c, row, x, path);
}

/** What stands behind a product of tokens and its bias, [tokens, K]. */
export function finishedTokens(c: ExportContext, row: NamedRow, product: string): string {
  const { inputs, attrs, output, name } = row;
  const clip = tokenClipOf(output);
  const biased = inputs.frameBias ? addTokenBias(c, product, inputs.frameBias, clip, name) : product;
  const y = isGated(attrs.act) ? gated(c, biased, inputs.weight!.dims[0]!, attrs.act as string) : biased;
  return finish(c, row, y, "rows", clip);
}

/** The product itself with everything behind it. */
function tokenLinear(c: ExportContext, row: NamedRow, x: Value, path: string): void {
  const y = c.writer.node("Gemm", [x.rows(), ...weightsOf(c, row, path)], { transB: 1 });
  c.write(row.output, c.rows(finishedTokens(c, row, y), row.output.dims[3]!));
}

/** x and x2 side by side; pictures stay pictures only if the view is the whole of one. */
function joined(c: ExportContext, { inputs, name }: NamedRow, clip: ClipSizes): Value {
  if (!inputs.x2) return c.read(inputs.x!, name);
  const first = c.read(inputs.x!, name);
  return c.joinChannels(inputs.x!, inputs.x2, first.clipSizes ?? clip, name);
}

/** A weight of a product under its own name and in its own shape; stacked ones side by side, as in one layer. */
function weightOf(c: ExportContext, tensor: Tensor, name: string, path: string): string {
  const parts = c.weights.partsOf(tensor, path);
  if (parts) {
    const names = parts.map((part) => c.weights.addPart(tensor, part));
    return c.writer.node("Concat", names, { axis: 0 });
  }
  const isVector = tensor.dims.length === 1 || tensor.storage.kind !== "weights";
  if (isVector || !isStoredAsConv(name.slice(0, name.lastIndexOf("."))))
    return c.parameter(tensor, name.slice(name.lastIndexOf(".") + 1), name.slice(0, name.lastIndexOf(".")));
  const filter = c.weights.add(name, tensor, [...tensor.dims, 1, 1]);
  return c.writer.node("Squeeze", [filter, c.writer.ints([2, 3])]);
}

/** The operands of a product behind its tokens. */
function weightsOf(c: ExportContext, { inputs, name }: NamedRow, path: string): string[] {
  const weight = weightOf(c, inputs.weight!, `${name}.weight`, path);
  return inputs.bias ? [weight, weightOf(c, inputs.bias, `${name}.bias`, path)] : [weight];
}

/** Several layers that the recording computes by one product, each on its own: their weights keep their names. */
function stackedLinear(c: ExportContext, { inputs, output }: NamedRow, x: string, path: string): void {
  const biases = inputs.bias && c.weights.partsOf(inputs.bias, path);
  c.weights.partsOf(inputs.weight!, path)!.forEach((part, i) => {
    const operands = [x, c.weights.addPart(inputs.weight!, part)];
    if (biases) operands.push(c.weights.addPart(inputs.bias!, biases[i]!));
    const y = c.writer.node("Gemm", operands, { transB: 1 });
    c.write(channelRange(output, part.begin, part.end), c.rows(y, part.end - part.begin));
  });
}

/** A projection of pictures as a convolution of one pixel. */
function pictureLinear(c: ExportContext, row: NamedRow, x: Value): void {
  const { inputs, output, name } = row;
  const [width, cin] = inputs.weight!.dims as [number, number];
  const clip = x.clipSizes!;
  const operands = [x.planes(clip), c.weights.add(`${name}.weight`, inputs.weight!, [width, cin, 1, 1])];
  if (inputs.bias) operands.push(c.parameter(inputs.bias, "bias", name));
  const y = c.writer.node("Conv", operands, { kernel_shape: [1, 1] });
  c.write(output, c.picture(finish(c, row, y, "planes", clip), width, "planes", clip));
}
