import type { Tensor } from "@vd/tensor";
import { clipOf, type ExportContext, type NamedRow } from "../context";
import type { ClipSizes, Value } from "../value";
import { coded, codesOfWeight } from "./codes";
import { addFrameBias, finish } from "./epilogue";
import { groupNormed } from "./norms";
import { writeWithKnownScale } from "./quantize";
import { writeMoments } from "./statistics";

/** Zeros, or frames again, at front, back, top, bottom, left, right. */
type Pads = readonly [number, number, number, number, number, number];

/** A convolution, whatever its row's op calls its parts. */
interface Convolution {
  readonly x: Value;
  /** The filters under dimensions that have or leave out the axis of frames. */
  readonly weight: (dims: readonly number[]) => string;
  readonly bias?: string | undefined;
  readonly stride: readonly number[];
  readonly padding: Pads;
  readonly upsample?: boolean;
  readonly transposed?: boolean;
  readonly groups?: number;
  readonly framePadding?: string;
  /** Past frames of a clip. */
  readonly past?: Tensor | undefined;
}

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

/** The convolution itself and its bias: over pictures where the kernel spans one frame, else over clips, as Conv with two or
 *  three axes; ConvTranspose where it is transposed. Returns the result with its form. */
function convolved(c: ExportContext, row: NamedRow, conv: Convolution): { y: string; form: "planes" | "clips" } {
  const [m, d, t, r, s] = row.inputs.weight!.dims as [number, number, number, number, number];
  const { stride, padding: pads } = conv;
  const isFlat = t === 1 && stride[0] === 1 && pads[0] === 0 && pads[1] === 0 && !conv.past;
  const { source, padding } = isFlat ? { source: flatSource(c, row, conv), padding: pads } : clipSource(c, row, conv);
  const [front, back, top, bottom, left, right] = padding;
  const operands = [source, conv.weight(isFlat ? [m, d, r, s] : [m, d, t, r, s])];
  if (conv.bias) operands.push(conv.bias);
  const y = c.writer.node(conv.transposed ? "ConvTranspose" : "Conv", operands, {
    kernel_shape: isFlat ? [r, s] : [t, r, s],
    strides: isFlat ? stride.slice(1) : stride,
    pads: isFlat ? [top, left, bottom, right] : [front, top, left, back, bottom, right],
    ...((conv.groups ?? 1) === 1 ? {} : { group: conv.groups! }),
  });
  return { y, form: isFlat ? "planes" : "clips" };
}

/** Everything behind the product and its bias. */
function finished(c: ExportContext, row: NamedRow, { y, form }: { y: string; form: "planes" | "clips" }): Value {
  const { inputs, output, name } = row;
  const clip = clipOf(output);
  const biased = inputs.frameBias ? addFrameBias(c, y, inputs.frameBias, form, clip, name) : y;
  return c.picture(finish(c, row, biased, form, clip), output.dims[4]!, form, clip);
}

/** x as pictures, doubled if the convolution asks for it. */
function flatSource(c: ExportContext, { inputs }: NamedRow, { x, upsample }: Convolution): string {
  const source = x.as("planes", clipOf(inputs.x!));
  return upsample ? doubled(c, source) : source;
}

/** x as a clip behind its past frames, doubled if asked for, and what padding is left: Conv has no replicated one. */
function clipSource(c: ExportContext, row: NamedRow, conv: Convolution): { source: string; padding: Pads } {
  const { x, past, padding: pads } = conv;
  const [b, frames, h, w] = clipOf(row.inputs.x!);
  const [front, back, ...sides] = pads;
  const replicated = conv.framePadding === "replicate" ? front + back : 0;
  const numFrames = (past?.dims[1] ?? 0) + frames + replicated;
  let source = x.as("clips", clipOf(row.inputs.x!));
  if (past) source = c.writer.node("Concat", [c.read(past, row.name).as("clips", clipOf(past)), source], { axis: 2 });
  if (replicated > 0) {
    const ends = c.writer.ints([0, 0, front, 0, 0, 0, 0, back, 0, 0]);
    source = c.writer.node("Pad", [source, ends], { mode: "edge" });
  }
  if (conv.upsample) source = doubledClip(c, source, [b, numFrames, h, w], x.channels);
  return { source, padding: replicated > 0 ? [0, 0, ...sides] : pads };
}

/** Doubles height and width of a clip, frame by frame. x: [B,C,F,H,W] → [B,C,F,2H,2W]. */
function doubledClip(c: ExportContext, x: string, [b, f, h, w]: ClipSizes, channels: number): string {
  const flat = c.writer.node("Reshape", [x, c.sizes.shape([b * channels, f, h, w], [], false)]);
  const dims = [b, channels, f, 2 * h, 2 * w];
  return c.writer.node("Reshape", [doubled(c, flat), c.sizes.shape(dims, [1], false)]);
}

/** A convolution of activations in the model's type. */
export function conv(c: ExportContext, row: NamedRow): void {
  const { inputs, attrs, output, name } = row;
  const product = convolved(c, row, {
    x: c.read(inputs.x!, name),
    weight: (dims) => c.parameter(inputs.weight!, "weight", name, dims),
    bias: inputs.bias && c.parameter(inputs.bias, "bias", name),
    ...{ stride: attrs.stride as readonly number[], padding: attrs.padding as readonly number[] as Pads },
    ...{ upsample: attrs.upsample as boolean, transposed: attrs.transposed as boolean },
    ...{ groups: attrs.groups as number, framePadding: attrs.framePadding as string, past: inputs.past },
  });
  c.write(output, finished(c, row, product));
  writeMoments(c, row);
}

/** Codes of a clip times their scale, in float32. */
function clipOfCodes(c: ExportContext, { inputs, name }: NamedRow): Value {
  const x = inputs.x!;
  const scale = c.wideGrid(inputs.xScale!, name, [...inputs.xScale!.dims, 1]);
  const numbers = c.writer.node("Mul", [c.wideGrid(x, name), scale]);
  const channels = x.dims[4]!;
  return c.rows(c.regroup(numbers, channels), channels);
}

/** Codes of filters times their scales, in float32 under `dims`. */
function filtersOfCodes(c: ExportContext, row: NamedRow, dims: readonly number[]): string {
  const codes = codesOfWeight(c, row);
  const scales = c.wideParameter(row.inputs.weightScale!, "weight_scale", row.name);
  // Output channels come first, or second where it is transposed.
  const perFilter = row.attrs.transposed ? [1, -1, ...dims.slice(2).map(() => 1)] : [-1, ...dims.slice(1).map(() => 1)];
  const column = c.writer.node("Reshape", [scales, c.writer.ints(perFilter)]);
  return c.writer.node("Mul", [c.writer.node("Reshape", [codes, c.writer.ints(dims)]), column]);
}

/** A convolution of codes, in float32 up to its bias, and everything behind it. */
function convOfCodes(c: ExportContext, row: NamedRow): Value {
  const { inputs, attrs, name } = row;
  const { y, form } = convolved(c, row, {
    x: clipOfCodes(c, row),
    weight: (dims) => filtersOfCodes(c, row, dims),
    bias: inputs.bias && c.wideParameter(inputs.bias, "bias", name),
    ...{ stride: attrs.stride as readonly number[], padding: attrs.padding as readonly number[] as Pads },
    transposed: attrs.transposed as boolean,
  });
  return finished(c, row, { y: c.narrowed(y), form });
}

/** A convolution in 8 bits. */
export function convQ8(c: ExportContext, row: NamedRow): void {
  c.write(row.output, convOfCodes(c, row));
  writeMoments(c, row);
}

/** A convolution in 8 bits, then codes with the given scale. */
export const convQ8Codes = (c: ExportContext, row: NamedRow): void =>
  writeWithKnownScale(c, row, convOfCodes(c, row).rows());

/** The clip that is convolved: x, or where statistics are given x, or x and x2, normalised. */
function normedSource(c: ExportContext, row: NamedRow): Value {
  const { inputs, attrs, name } = row;
  if (!inputs.stats) return c.read(inputs.x!, name);
  const clip = clipOf(inputs.x!);
  return groupNormed(c, row, c.joinChannels(inputs.x!, inputs.x2, clip, name), {
    ...{ groups: inputs.stats.dims[2]!, clip, stats: inputs.stats, act: attrs.normAct as string, eps: 0 },
    joined: inputs.stats.dims[1] === 1 && inputs.x!.dims[1]! > 1,
    weight: c.parameter(inputs.normWeight!, "norm_weight", name),
    bias: c.parameter(inputs.normBias!, "norm_bias", name),
  });
}

/** The steps and the zeros of a convolution whose results are as large as its source, but perhaps for its frames. */
function geometryWithinBorders({ inputs, attrs }: NamedRow): { stride: readonly number[]; padding: Pads } {
  const [front = 0, back = 0] = (attrs.temporalPadding as number[] | undefined) ?? [];
  const [r, s] = inputs.weight!.dims.slice(3).map((size) => Math.floor(size / 2)) as [number, number];
  return { stride: [1, 1, 1], padding: [front, back, r, r, s, s] };
}

/** A convolution with frames of results as large as those of its source, of normalised channels where statistics are given: which products
 *  kernels save, and where the normalised channels lie, is their affair. */
export function normedConv(c: ExportContext, row: NamedRow): void {
  const { inputs, output, name } = row;
  const product = convolved(c, row, {
    x: normedSource(c, row),
    weight: (dims) => c.parameter(inputs.weight!, "weight", name, dims),
    bias: inputs.bias && c.parameter(inputs.bias, "bias", name),
    ...geometryWithinBorders(row),
  });
  c.write(output, finished(c, row, product));
  writeMoments(c, row);
}

/** The same of codes that the normalised channels become, in float32 up to its bias. */
export function normedConvQ8(c: ExportContext, row: NamedRow): void {
  const { inputs, output, name } = row;
  const scale = c.widened(c.read(inputs.normScale!, name).rows());
  const codes = coded(c, c.widened(normedSource(c, row).rows()), scale, "f8e4m3");
  const { y, form } = convolved(c, row, {
    x: c.rows(c.writer.node("Mul", [codes, scale]), inputs.x!.dims[4]!),
    weight: (dims) => filtersOfCodes(c, row, dims),
    bias: inputs.bias && c.wideParameter(inputs.bias, "bias", name),
    ...geometryWithinBorders(row),
  });
  c.write(output, finished(c, row, { y: c.narrowed(y), form }));
  writeMoments(c, row);
}
