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
  const wide = c.type === "float" ? x : c.cast(x, "float");
  const grouped = c.writer.node("Reshape", [wide, c.writer.ints([0, groups, -1])]);
  const ones = c.writer.floats(`ones[${groups}]`, new Float32Array(groups).fill(1), [groups]);
  const zeros = c.writer.floats(`zeros[${groups}]`, new Float32Array(groups), [groups]);
  const epsilon = { epsilon: { float: attrs.eps as number } };
  const normed = c.writer.node("InstanceNormalization", [grouped, ones, zeros], epsilon);
  const dims = attrs.joinFrames ? [b, channels, f, h, w] : [b * f, channels, h, w];
  const shaped = c.writer.node("Reshape", [normed, c.sizes.shape(dims, [1])]);
  const narrow = c.type === "float" ? shaped : c.cast(shaped, "float16");
  const axes = c.writer.ints(attrs.joinFrames ? [1, 2, 3] : [1, 2]);
  const perChannel = (suffix: "weight" | "bias") =>
    c.writer.node("Unsqueeze", [c.weights.add(`${name}.${suffix}`, inputs[suffix]!), axes]);
  const affine = c.writer.node("Add", [c.writer.node("Mul", [narrow, perChannel("weight")]), perChannel("bias")]);
  c.write(output, c.picture(activated(c, affine, attrs.act as string), channels, form, clip));
}

/** Normalises each token over its channels; the standard computes in float32 inside (stash_type 1). */
export function layerNorm(c: ExportContext, { inputs, attrs, output, name }: NamedRow): void {
  const operands = [
    c.read(inputs.x!, name).rows(),
    c.weights.add(`${name}.weight`, inputs.weight!),
    c.weights.add(`${name}.bias`, inputs.bias!),
  ];
  const y = c.writer.node("LayerNormalization", operands, { axis: -1, epsilon: { float: attrs.eps as number } });
  c.write(output, c.rows(y, output.dims[3]!));
}
