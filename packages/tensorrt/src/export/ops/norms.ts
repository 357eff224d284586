import type { Tensor } from "@vd/tensor";
import { clipOf, type ExportContext, type NamedRow, unmapped } from "../context";
import { activated } from "./epilogue";

/** Normalises groups of channels. Statistics are taken in float32 whatever the model's precision is: float16 would
 *  overflow in the squares. InstanceNormalization over [N, groups, ·] is the form that runtimes have fast code for. */
export function groupNorm(c: ExportContext, row: NamedRow): void {
  const { inputs, attrs, output, name } = row;
  if (inputs.stats) throw unmapped(row.op, name, "statistics of the operand itself", "statistics computed before");
  const clip = clipOf(output);
  const [b, f, h, w] = clip;
  const channels = output.dims[4]!;
  const groups = attrs.groups as number;
  const form = attrs.joinFrames ? "clips" : "planes";
  const x = c.joinChannels(inputs.x!, inputs.x2, clip, name).as(form, clip);
  const grouped = c.writer.node("Reshape", [c.widened(x), c.writer.ints([0, groups, -1])]);
  const ones = c.writer.floats(`ones[${groups}]`, new Float32Array(groups).fill(1), [groups]);
  const zeros = c.writer.floats(`zeros[${groups}]`, new Float32Array(groups), [groups]);
  const epsilon = { epsilon: { float: attrs.eps as number } };
  const normed = c.writer.node("InstanceNormalization", [grouped, ones, zeros], epsilon);
  const dims = attrs.joinFrames ? [b, channels, f, h, w] : [b * f, channels, h, w];
  const shaped = c.writer.node("Reshape", [normed, c.sizes.shape(dims, [1])]);
  const narrow = c.narrowed(shaped);
  const axes = c.writer.ints(attrs.joinFrames ? [1, 2, 3] : [1, 2]);
  const perChannel = (suffix: "weight" | "bias") =>
    c.writer.node("Unsqueeze", [c.weights.add(`${name}.${suffix}`, inputs[suffix]!), axes]);
  const affine = c.writer.node("Add", [c.writer.node("Mul", [narrow, perChannel("weight")]), perChannel("bias")]);
  c.write(output, c.picture(activated(c, affine, attrs.act as string), channels, form, clip));
}

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

/** Normalises each token over its channels; the standard computes in float32 inside (stash_type 1) and wants a weight. */
export function layerNorm(c: ExportContext, row: NamedRow): void {
  const { inputs, attrs, output, name } = row;
  const channels = output.dims[3]!;
  const weight = inputs.weight ? c.weights.add(`${name}.weight`, inputs.weight) : c.filled(1, channels);
  const operands = [c.read(inputs.x!, name).rows(), weight];
  if (inputs.bias) operands.push(c.weights.add(`${name}.bias`, inputs.bias));
  const y = c.writer.node("LayerNormalization", operands, { axis: -1, epsilon: { float: attrs.eps as number } });
  c.write(output, c.rows(modulated(c, row, y), channels));
}

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
  if (inputs.weight) y = c.writer.node("Mul", [y, c.weights.add(`${name}.weight`, inputs.weight)]);
  c.write(output, c.rows(modulated(c, row, y), channels));
}

/** Normalises channels by running statistics. */
export function batchNorm(c: ExportContext, { inputs, attrs, output, name }: NamedRow): void {
  const clip = clipOf(output);
  const channels = output.dims[4]!;
  const weight = inputs.weight ? c.weights.add(`${name}.weight`, inputs.weight) : c.filled(1, channels);
  const bias = inputs.bias ? c.weights.add(`${name}.bias`, inputs.bias) : c.filled(0, channels);
  const mean = c.weights.add(`${name}.running_mean`, inputs.mean!);
  const variance = c.weights.add(`${name}.running_var`, inputs.variance!);
  const operands = [c.read(inputs.x!, name).planes(clip), weight, bias, mean, variance];
  const y = c.writer.node("BatchNormalization", operands, { epsilon: { float: attrs.eps as number } });
  c.write(output, c.picture(activated(c, y, attrs.act as string), channels, "planes", clip));
}
