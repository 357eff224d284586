import { clipOf, type ExportContext, type NamedRow } from "../context";
import { groupsOf } from "./norms";

/** Averages over some axes, which stay with a size of 1. */
const mean = (c: ExportContext, x: string, axes: readonly number[]) =>
  c.writer.node("ReduceMean", [x, c.writer.ints(axes)], { keepdims: 1 });

/** Mean and biased variance over some axes, the latter from distances to the mean. */
function meanAndVariance(c: ExportContext, x: string, axes: readonly number[]): [mean: string, variance: string] {
  const center = mean(c, x, axes);
  const apart = c.writer.node("Sub", [x, center]);
  return [center, mean(c, c.writer.node("Mul", [apart, apart]), axes)];
}

/** Two numbers as columns, [·, 2]. */
function pairs(c: ExportContext, values: readonly string[]): string {
  const columns = values.map((value) => c.regroup(value, 1));
  return c.writer.node("Concat", columns, { axis: 1 });
}

/** Statistics of groups from those of their channels: the mean of the means; the mean of the variances, and of what the means
 *  lie apart. */
function fromMoments(c: ExportContext, { inputs, attrs, name }: NamedRow): [mean: string, variance: string] {
  const given = [inputs.moments!, ...(inputs.moments2 ? [inputs.moments2] : [])];
  const grids = given.map((moments) => c.wideGrid(moments, name));
  const all = grids.length === 1 ? grids[0]! : c.writer.node("Concat", grids, { axis: 2 });
  const [b, f] = clipOf(inputs.x!);
  const channels = given.reduce((sum, { dims }) => sum + dims[2]!, 0);
  const groups = attrs.groups as number;
  const [means, variances] = [0, 1].map((i) => {
    const shape = c.sizes.shape([b, f, groups, channels / groups], [2, 3]);
    return c.writer.node("Reshape", [c.part(all, 3, i, i + 1), shape]);
  }) as [string, string];
  const axes = attrs.joinFrames ? [1, 3] : [3];
  const [center, between] = meanAndVariance(c, means, axes);
  return [center, c.writer.node("Add", [mean(c, variances, axes), between])];
}

/** Mean and 1/√(variance + eps) of channel groups. */
export function groupNormStats(c: ExportContext, row: NamedRow): void {
  const { inputs, attrs, output, name } = row;
  const clip = clipOf(inputs.x!);
  const groups = { groups: attrs.groups as number, clip, joined: attrs.joinFrames as boolean };
  const [center, variance] = inputs.moments
    ? fromMoments(c, row)
    : meanAndVariance(c, groupsOf(c, c.joinChannels(inputs.x!, inputs.x2, clip, name), groups), [2]);
  const root = c.writer.node("Sqrt", [c.writer.node("Add", [variance, c.wideScalar(attrs.eps as number)])]);
  c.write(output, c.rows(pairs(c, [center, c.writer.node("Reciprocal", [root])]), 2));
}

/** Notes mean and variance of each channel over the pixels of each frame of a convolution's result, if they are asked for. */
export function writeMoments(c: ExportContext, { output, outputs, name }: NamedRow): void {
  if (!outputs.moments) return;
  const planes = c.widened(c.read(output, name).planes(clipOf(output)));
  c.write(outputs.moments, c.rows(pairs(c, meanAndVariance(c, planes, [2, 3])), 2));
}
