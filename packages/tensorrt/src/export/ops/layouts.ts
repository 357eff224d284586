import type { Attributes } from "../../onnx/graph-writer";
import { clipOf, type ExportContext, type NamedRow } from "../context";
import { NEAREST } from "./convolutions";
import { scaled } from "./epilogue";

function shifted(c: ExportContext, x: string, { attrs }: NamedRow): string {
  const y = scaled(c, x, attrs.scale as number);
  return attrs.shift === 0 ? y : c.writer.node("Add", [y, c.scalar(attrs.shift as number)]);
}

/** [B,F,C,H,W] → pictures, which is what the standard's convolutions take: a change of shape only. */
export function layoutIn(c: ExportContext, row: NamedRow): void {
  const { inputs, output, name } = row;
  const clip = clipOf(output);
  const [b, f, h, w] = clip;
  const channels = output.dims[4]!;
  const planes = c.read(inputs.x!, name).rows();
  const y = c.writer.node("Reshape", [planes, c.sizes.shape([b * f, channels, h, w], [1])]);
  c.write(output, c.picture(shifted(c, y, row), channels, "planes", clip));
}

/** Pictures → [B,F,C,H,W]. */
export function layoutOut(c: ExportContext, row: NamedRow): void {
  const { inputs, output, name } = row;
  const y = shifted(c, c.read(inputs.x!, name).planes(clipOf(inputs.x!)), row);
  // Whoever reads planes gives them a shape of their own, so they stay [B·F,C,H,W] until then.
  const width = output.dims[4]!;
  c.write(output, c.rows(y, width, true));
}

/** How a row resizes, as attributes of Resize. */
function interpolationOf({ attrs }: NamedRow): Attributes {
  if (attrs.mode === "nearest") return NEAREST;
  return {
    mode: attrs.mode === "bilinear" ? "linear" : "cubic",
    coordinate_transformation_mode: attrs.alignCorners ? "align_corners" : "half_pixel",
    cubic_coeff_a: { float: -0.75 },
  };
}

/** Another height and width. */
export function resize(c: ExportContext, row: NamedRow): void {
  const { inputs, output, name } = row;
  const [b, f, h, w] = clipOf(output);
  const channels = output.dims[4]!;
  const isPixel = h * w === 1;
  const [pictures, planes] = isPixel ? [1, b * f * channels] : [b * f, channels];
  const [, , fromH, fromW] = clipOf(inputs.x!);
  const x = c.read(inputs.x!, name).planes(clipOf(inputs.x!));
  // ONNX Runtime moves the change of layout in front of results of one pixel through Resize, and then refuses: channels of one
  // picture stop it. Without axes, since 1.30 loses the sizes of two axes that are 1.
  const source = isPixel ? c.writer.node("Reshape", [x, c.sizes.shape([1, planes, fromH, fromW], [], false)]) : x;
  const sizes = c.sizes.shape([pictures, planes, h, w], isPixel ? [] : [1], false);
  const y = c.writer.node("Resize", [source, "", "", sizes], interpolationOf(row));
  c.write(output, isPixel ? c.rows(c.regroup(y, channels), channels) : c.picture(y, channels, "planes", [b, f, h, w]));
}

/** The largest number or the average of windows: over pictures where a window spans one frame, else over clips. */
export function pool(c: ExportContext, { inputs, attrs, output, name }: NamedRow): void {
  const [kernel, strides, padding] = [attrs.kernel, attrs.stride, attrs.padding] as (readonly number[])[];
  const isFlat = kernel![0] === 1 && strides![0] === 1 && padding![0] === 0 && padding![1] === 0;
  const form = isFlat ? "planes" : "clips";
  const axes = isFlat ? [1, 2] : [0, 1, 2];
  const y = c.writer.node(
    attrs.mode === "max" ? "MaxPool" : "AveragePool",
    [c.read(inputs.x!, name).as(form, clipOf(inputs.x!))],
    {
      kernel_shape: axes.map((axis) => kernel![axis]!),
      strides: axes.map((axis) => strides![axis]!),
      pads: [...axes.map((axis) => padding![2 * axis]!), ...axes.map((axis) => padding![2 * axis + 1]!)],
      ...(attrs.mode === "max" ? {} : { count_include_pad: attrs.countIncludePad ? 1 : 0 }),
    },
  );
  c.write(output, c.picture(y, output.dims[4]!, form, clipOf(output)));
}

/** Channels into frames, height and width. */
export function depthToSpace(c: ExportContext, { inputs, attrs, output, name }: NamedRow): void {
  const [b, f, h, w] = clipOf(inputs.x!);
  const channels = output.dims[4]!;
  const [bt, bh, bw] = attrs.block as readonly number[] as [number, number, number];
  const isFirst = attrs.order === "channels_first";
  const dims = isFirst ? [b, f, h, w, channels, bt, bh, bw] : [b, f, h, w, bh, bw, bt, channels];
  const x = c.read(inputs.x!, name).grid(dims, 4);
  const perm = isFirst ? [0, 1, 5, 2, 6, 3, 7, 4] : [0, 1, 6, 2, 4, 3, 5, 7];
  c.write(output, c.rows(c.regroup(c.writer.node("Transpose", [x], { perm }), channels), channels));
}

/** Frames, height and width into channels. */
export function spaceToDepth(c: ExportContext, { inputs, attrs, output, name }: NamedRow): void {
  const [b, f, h, w] = clipOf(output);
  const channels = inputs.x!.dims[4]!;
  const [bt, bh, bw] = attrs.block as readonly number[] as [number, number, number];
  const dims = [b, f, bt, h, bh, w, bw, channels];
  const x = c.writer.node("Reshape", [c.read(inputs.x!, name).rows(), c.sizes.shape(dims, [2, 4, 6, 7])]);
  const y = c.writer.node("Transpose", [x], { perm: [0, 1, 3, 5, 7, 2, 4, 6] });
  const width = output.dims[4]!;
  c.write(output, c.rows(c.regroup(y, width), width));
}
