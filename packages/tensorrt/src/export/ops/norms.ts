import type { Tensor } from "@vd/tensor";
import { clipOf, type ExportContext, type NamedRow } from "../context";
import type { ClipSizes, Value } from "../value";
import { activated } from "./epilogue";

/** Channel groups of a clip, [B·F, groups, ·], or [B, groups, ·] over all frames, in float32: squares overflow in float16. */
export function groupsOf(c: ExportContext, x: Value, { groups, clip, joined }: Groups): string {
  const picture = x.as(joined ? "clips" : "planes", clip);
  return c.writer.node("Reshape", [c.widened(picture), c.writer.ints([0, groups, -1])]);
}

/** How channels are grouped. */
export interface Groups {
  readonly groups: number;
  readonly clip: ClipSizes;
  /** All frames of a clip together. */
  readonly joined: boolean;
}

/** Groups normalised by their own statistics. InstanceNormalization over [N, groups, ·] is the form that runtimes have fast
 *  code for. */
function normedByOwn(c: ExportContext, grouped: string, groups: number, eps: number): string {
  const ones = c.writer.floats(`ones[${groups}]`, new Float32Array(groups).fill(1), [groups]);
  const zeros = c.writer.floats(`zeros[${groups}]`, new Float32Array(groups), [groups]);
  return c.writer.node("InstanceNormalization", [grouped, ones, zeros], { epsilon: { float: eps } });
}

/** Groups normalised by given means and 1/√(variance + eps). stats: [B,1|F,groups,2]. */
function normedByGiven(c: ExportContext, grouped: string, stats: Tensor, row: string): string {
  const all = c.widened(c.read(stats, row).rows());
  const groups = stats.dims[2]!;
  const [mean, factor] = [0, 1].map((i) =>
    c.writer.node("Reshape", [c.part(all, 1, i, i + 1), c.writer.ints([-1, groups, 1])]),
  ) as [string, string];
  return c.writer.node("Mul", [c.writer.node("Sub", [grouped, mean]), factor]);
}

/** What a norm of channel groups is made of, besides its operands. */
export interface GroupNorm extends Groups {
  readonly eps: number;
  readonly act: string;
  readonly stats: Tensor | undefined;
  /** Scale and shift of the channels. */
  readonly weight: string;
  readonly bias: string;
}

/** Channel groups of a clip normalised, scaled, shifted and activated. Statistics are taken in float32 whatever the model's
 *  precision is. */
export function groupNormed(c: ExportContext, row: NamedRow, x: Value, norm: GroupNorm): Value {
  const { groups, clip, joined, stats, eps, act } = norm;
  const grouped = groupsOf(c, x, norm);
  const normed = stats ? normedByGiven(c, grouped, stats, row.name) : normedByOwn(c, grouped, groups, eps);
  const [b, f, h, w] = clip;
  const dims = joined ? [b, x.channels, f, h, w] : [b * f, x.channels, h, w];
  const narrow = c.narrowed(c.writer.node("Reshape", [normed, c.sizes.shape(dims, [1])]));
  const axes = c.writer.ints(joined ? [1, 2, 3] : [1, 2]);
  const [weight, bias] = [norm.weight, norm.bias].map((name) => c.writer.node("Unsqueeze", [name, axes]));
  const affine = c.writer.node("Add", [c.writer.node("Mul", [narrow, weight!]), bias!]);
  return c.picture(activated(c, affine, act), x.channels, joined ? "clips" : "planes", clip);
}

/** The result of a row that normalises channel groups as group_norm does. */
export function groupNormOf(c: ExportContext, row: NamedRow): Value {
  const { inputs, attrs, output, name } = row;
  const clip = clipOf(output);
  return groupNormed(c, row, c.joinChannels(inputs.x!, inputs.x2, clip, name), {
    ...{ groups: attrs.groups as number, clip, joined: attrs.joinFrames as boolean, stats: inputs.stats },
    ...{ eps: attrs.eps as number, act: attrs.act as string },
    weight: c.parameter(inputs.weight!, "weight", name),
    bias: c.parameter(inputs.bias!, "bias", name),
  });
}

/** Normalises groups of channels. */
export const groupNorm = (c: ExportContext, row: NamedRow): void => c.write(row.output, groupNormOf(c, row));

/** An operand [1|B,1|F,1|S,C] in a shape that tokens [B,F,S,C] are broadcast with. */
const perToken = (c: ExportContext, operand: Tensor, row: string) => c.read(operand, row).grid(operand.dims, 3);

/** Scale and shift of adaptive norms. x: [tokens, C] */
function modulated(c: ExportContext, { inputs, output, name }: NamedRow, x: string): string {
  if (!inputs.scale && !inputs.shift) return x;
  let y = c.writer.node("Reshape", [x, c.sizes.shape(output.dims, [3])]);
  if (inputs.scale) {
    const factor = c.writer.node("Add", [perToken(c, inputs.scale, name), c.scalar(1)]);
    y = c.writer.node("Mul", [y, factor]);
  }
  if (inputs.shift) y = c.writer.node("Add", [y, perToken(c, inputs.shift, name)]);
  return c.regroup(y, output.dims[3]!);
}

/** The result of a row that normalises tokens as layer_norm does, [tokens, C]. The standard computes in float32 inside
 *  (stash_type 1) and wants a weight. */
export function layerNormOf(c: ExportContext, row: NamedRow): string {
  const { inputs, attrs, output, name } = row;
  const weight = inputs.weight ? c.parameter(inputs.weight, "weight", name) : c.filled(1, output.dims[3]!);
  const operands = [c.read(inputs.x!, name).rows(), weight];
  if (inputs.bias) operands.push(c.parameter(inputs.bias, "bias", name));
  const y = c.writer.node("LayerNormalization", operands, { axis: -1, epsilon: { float: attrs.eps as number } });
  return modulated(c, row, y);
}

/** Normalises each token over its channels. */
export const layerNorm = (c: ExportContext, row: NamedRow): void =>
  c.write(row.output, c.rows(layerNormOf(c, row), row.output.dims[3]!));

/** Divides each token by the root mean square of its channels, which is found in float32: float16 would overflow in the
 *  squares. RMSNormalization is younger than the operator set of the export. */
export function rmsNorm(c: ExportContext, row: NamedRow): void {
  const { inputs, attrs, output, name } = row;
  const channels = output.dims[3]!;
  const x = c.widened(c.read(inputs.x!, name).rows());
  const square = c.writer.node("Mul", [x, x]);
  const mean = c.writer.node("ReduceMean", [square, c.writer.ints([1])], { keepdims: 1 });
  const eps = attrs.eps as number;
  const shifted = c.writer.node("Add", [mean, c.writer.floats(`eps[${eps}]`, Float32Array.of(eps), [])]);
  let y = c.narrowed(c.writer.node("Div", [x, c.writer.node("Sqrt", [shifted])]));
  if (inputs.weight) y = c.writer.node("Mul", [y, c.parameter(inputs.weight, "weight", name)]);
  c.write(output, c.rows(modulated(c, row, y), channels));
}

/** Normalises channels by running statistics. */
export function batchNorm(c: ExportContext, { inputs, attrs, output, name }: NamedRow): void {
  const clip = clipOf(output);
  const channels = output.dims[4]!;
  const weight = inputs.weight ? c.parameter(inputs.weight, "weight", name) : c.filled(1, channels);
  const bias = inputs.bias ? c.parameter(inputs.bias, "bias", name) : c.filled(0, channels);
  const mean = c.parameter(inputs.mean!, "running_mean", name);
  const variance = c.parameter(inputs.variance!, "running_var", name);
  const operands = [c.read(inputs.x!, name).planes(clip), weight, bias, mean, variance];
  const y = c.writer.node("BatchNormalization", operands, { epsilon: { float: attrs.eps as number } });
  c.write(output, c.picture(activated(c, y, attrs.act as string), channels, "planes", clip));
}
