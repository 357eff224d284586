import type { Tensor } from "@vd/tensor";
import { channelRange } from "@vd/tensor";
import { clipOf, type ExportContext, type NamedRow, tokenClipOf } from "../context";
import type { ClipSizes, Value } from "../value";
import { addFrameBias, addTokenBias, finish, gated, isGated } from "./epilogue";

/** Doubles height and width by nearest neighbour. x: [N,C,H,W]. */
function doubled(c: ExportContext, x: string): string {
  const scales = c.writer.floats("scales[1,1,2,2]", Float32Array.of(1, 1, 2, 2), [4]);
  return c.writer.node("Resize", [x, "", scales], NEAREST);
}

/** Nearest neighbour as group norms' and convolutions' contracts define it: index · in / out, rounded down. */
export const NEAREST = {
  mode: "nearest",
  coordinate_transformation_mode: "asymmetric",
  nearest_mode: "floor",
} as const;

/** A convolution: over pictures where the kernel spans one frame, else over clips, as Conv with two or three axes; ConvTranspose
 *  where it is transposed. */
export function conv(c: ExportContext, row: NamedRow): void {
  const { inputs, attrs, output, name } = row;
  const [m, d, t, r, s] = inputs.weight!.dims as [number, number, number, number, number];
  const stride = attrs.stride as readonly number[];
  const pads = attrs.padding as readonly number[] as Pads;
  const isFlat = t === 1 && stride[0] === 1 && pads[0] === 0 && pads[1] === 0 && !inputs.past;
  const form = isFlat ? "planes" : "clips";
  const clip = clipOf(output);
  const { source, padding } = isFlat ? { source: flatSource(c, row), padding: pads } : clipSource(c, row, pads);
  const [front, back, top, bottom, left, right] = padding;
  const operands = [source, c.weights.add(`${name}.weight`, inputs.weight!, isFlat ? [m, d, r, s] : [m, d, t, r, s])];
  if (inputs.bias) operands.push(c.weights.add(`${name}.bias`, inputs.bias));
  const y = c.writer.node(attrs.transposed ? "ConvTranspose" : "Conv", operands, {
    kernel_shape: isFlat ? [r, s] : [t, r, s],
    strides: isFlat ? stride.slice(1) : stride,
    pads: isFlat ? [top, left, bottom, right] : [front, top, left, back, bottom, right],
    ...(attrs.groups === 1 ? {} : { group: attrs.groups as number }),
  });
  const biased = inputs.frameBias ? addFrameBias(c, y, inputs.frameBias, form, clip, name) : y;
  c.write(output, c.picture(finish(c, row, biased, form, clip), output.dims[4]!, form, clip));
}

type Pads = readonly [number, number, number, number, number, number];

/** x as pictures, doubled if the convolution asks for it. */
function flatSource(c: ExportContext, { inputs, attrs, name }: NamedRow): string {
  const source = c.read(inputs.x!, name).as("planes", clipOf(inputs.x!));
  return attrs.upsample ? doubled(c, source) : source;
}

/** x as a clip behind its past frames, doubled if asked for, and what padding is left: Conv has no replicated one. */
function clipSource(
  c: ExportContext,
  { inputs, attrs, name }: NamedRow,
  pads: Pads,
): { source: string; padding: Pads } {
  const [b, frames, h, w] = clipOf(inputs.x!);
  const [front, back, ...sides] = pads;
  const replicated = attrs.framePadding === "replicate" ? front + back : 0;
  const numFrames = (inputs.past?.dims[1] ?? 0) + frames + replicated;
  let source = c.read(inputs.x!, name).as("clips", clipOf(inputs.x!));
  if (inputs.past) {
    const past = c.read(inputs.past, name).as("clips", clipOf(inputs.past));
    source = c.writer.node("Concat", [past, source], { axis: 2 });
  }
  if (replicated > 0) {
    const ends = c.writer.ints([0, 0, front, 0, 0, 0, 0, back, 0, 0]);
    source = c.writer.node("Pad", [source, ends], { mode: "edge" });
  }
  if (attrs.upsample) source = doubledClip(c, source, [b, numFrames, h, w], inputs.x!.dims[4]!);
  return { source, padding: replicated > 0 ? [0, 0, ...sides] : pads };
}

/** Doubles height and width of a clip, frame by frame. x: [B,C,F,H,W] → [B,C,F,2H,2W]. */
function doubledClip(c: ExportContext, x: string, [b, f, h, w]: ClipSizes, channels: number): string {
  const flat = c.writer.node("Reshape", [x, c.sizes.shape([b * channels, f, h, w], [], false)]);
  const dims = [b, channels, f, 2 * h, 2 * w];
  return c.writer.node("Reshape", [doubled(c, flat), c.sizes.shape(dims, [1], false)]);
}

/** The checkpoint stores these projections as convolutions of one pixel. */
const isStoredAsConv = (name: string) => /(^|\.)conv_shortcut$/.test(name);

/** A matrix product of tokens: Gemm on [tokens, C]; for a convolution's weights on pictures, Conv. */
export function linear(c: ExportContext, row: NamedRow): void {
  const { inputs, attrs, output, name } = row;
  const x = joined(c, row, tokenClipOf(output));
  const path = name.slice(0, Math.max(name.lastIndexOf("."), 0));
  const isBare = !inputs.residual && !inputs.residual2 && !inputs.frameBias;
  const isPlain = isBare && attrs.act === "none" && attrs.outScale === 1;
  if (isPlain && c.weights.partsOf(inputs.weight!, path)) stackedLinear(c, row, x.rows(), path);
  else if (x.native === "planes" && isStoredAsConv(name) && !inputs.frameBias && !isGated(attrs.act))
    pictureLinear(c, row, x);
  else tokenLinear(c, row, x, path);
}

/** The product itself with everything behind it. */
function tokenLinear(c: ExportContext, row: NamedRow, x: Value, path: string): void {
  const { inputs, attrs, output, name } = row;
  const clip = tokenClipOf(output);
  let y = c.writer.node("Gemm", [x.rows(), ...weightsOf(c, row, path)], { transB: 1 });
  if (inputs.frameBias) y = addTokenBias(c, y, inputs.frameBias, clip, name);
  if (isGated(attrs.act)) y = gated(c, y, inputs.weight!.dims[0]!, attrs.act as string);
  c.write(output, c.rows(finish(c, row, y, "rows", clip), output.dims[3]!));
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
  if (tensor.dims.length === 1 || !isStoredAsConv(name.slice(0, name.lastIndexOf("."))))
    return c.weights.add(name, tensor);
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
  if (inputs.bias) operands.push(c.weights.add(`${name}.bias`, inputs.bias));
  const y = c.writer.node("Conv", operands, { kernel_shape: [1, 1] });
  c.write(output, c.picture(finish(c, row, y, "planes", clip), width, "planes", clip));
}
