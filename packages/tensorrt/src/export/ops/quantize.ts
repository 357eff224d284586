import type { Tensor } from "@vd/tensor";
import type { CodeType } from "../../onnx/weight-source";
import type { ExportContext, NamedRow } from "../context";
import { coded, inBlocks, outOfBlocks, scalesOf } from "./codes";
import { groupNormOf, layerNormOf } from "./norms";

/** Notes codes of the model's type as a result. codes: [tokens, C]. */
export function writeCodes(c: ExportContext, output: Tensor, codes: string): void {
  const channels = output.dims[output.dims.length - 1]!;
  c.write(output, c.rows(c.narrowed(codes), channels));
}

/** Notes scales as a result, if they are asked for. */
function writeScales(c: ExportContext, scales: Tensor | undefined, name: string): void {
  if (!scales) return;
  const channels = scales.dims[3]!;
  c.write(scales, c.rows(c.regroup(name, channels), channels));
}

/** Codes with the scale of a tensor, of a token or of blocks of a token. */
export function quantize(c: ExportContext, { inputs, outputs, attrs, output, name }: NamedRow): void {
  const type = output.dtype as CodeType;
  const x = c.widened(c.read(inputs.x!, name).rows());
  const channels = output.dims[3]!;
  const isBlock = attrs.per === "block";
  const grouped = isBlock ? inBlocks(c, x, channels) : x;
  const axes = { tensor: [], row: [1], block: [2] }[attrs.per as "tensor" | "row" | "block"];
  const given = inputs.scale && c.widened(c.read(inputs.scale, name).rows());
  const shaped = given && isBlock ? c.writer.node("Unsqueeze", [given, c.writer.ints([2])]) : given;
  const scales = shaped ?? scalesOf(c, grouped, axes, type);
  const codes = coded(c, grouped, scales, type);
  writeCodes(c, output, isBlock ? outOfBlocks(c, codes, channels) : codes);
  writeScales(c, outputs.scales, scales);
}

/** The one known scale of a result in codes, [1, 1] in float32. */
const knownScale = (c: ExportContext, { inputs, name }: NamedRow): string =>
  c.widened(c.read(inputs.yScale!, name).rows());

/** The codes of a result that one known scale belongs to. x: [·, C] in the model's type. */
export function writeWithKnownScale(c: ExportContext, row: NamedRow, x: string): void {
  writeCodes(c, row.output, coded(c, c.widened(x), knownScale(c, row), row.output.dtype as CodeType));
}

/** group_norm, then codes with the given scale. */
export const groupNormQ8 = (c: ExportContext, row: NamedRow): void =>
  writeWithKnownScale(c, row, groupNormOf(c, row).rows());

/** Notes one scale, [1, 1] in float32, as that of every token, if scales are asked for. */
function writeForEveryToken(c: ExportContext, scales: Tensor | undefined, scale: string): void {
  if (!scales) return;
  const grid = c.writer.node("Unsqueeze", [scale, c.writer.ints([0, 1])]);
  writeScales(c, scales, c.writer.node("Expand", [grid, c.sizes.shape(scales.dims, [3], false)]));
}

/** layer_norm, then codes with the given scale or one for each token. */
export function layerNormQ8(c: ExportContext, row: NamedRow): void {
  const normed = c.widened(layerNormOf(c, row));
  const type = row.output.dtype as CodeType;
  const known = row.inputs.yScale && knownScale(c, row);
  const scales = known ?? scalesOf(c, normed, [1], type);
  writeCodes(c, row.output, coded(c, normed, scales, type));
  if (known) writeForEveryToken(c, row.outputs.scales, known);
  else writeScales(c, row.outputs.scales, scales);
}
