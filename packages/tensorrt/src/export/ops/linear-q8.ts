import type { Tensor } from "@vd/tensor";
import type { ExportContext, NamedRow } from "../context";
import { coded, codesOfWeight, inBlocks, outOfBlocks } from "./codes";
import { finishedTokens, normedTokens } from "./products";
import { writeWithKnownScale } from "./quantize";

/** Scales [·, blocks] times numbers [·, C], block by block. */
function timesBlocks(c: ExportContext, x: string, scales: string, channels: number): string {
  const column = c.writer.node("Unsqueeze", [scales, c.writer.ints([2])]);
  return outOfBlocks(c, c.writer.node("Mul", [inBlocks(c, x, channels), column]), channels);
}

/** Codes of tokens times their scales, in float32: [tokens, C]. */
function tokensOfCodes(c: ExportContext, { inputs, name }: NamedRow): string {
  const { x, xScale } = inputs as { x: Tensor; xScale: Tensor };
  const [b, f, s, channels] = x.dims as [number, number, number, number];
  const blocks = xScale.dims[3]!;
  const scales = c.wideGrid(xScale, name);
  if (blocks === 1) return c.regroup(c.writer.node("Mul", [c.wideGrid(x, name), scales]), channels);
  const all = c.writer.node("Expand", [scales, c.sizes.shape([b, f, s, blocks], [3], false)]);
  return timesBlocks(c, c.widened(c.read(x, name).rows()), c.regroup(all, blocks), channels);
}

/** Codes of a weight times their scales, in float32: [N, C]. */
function rowsOfCodes(c: ExportContext, row: NamedRow): string {
  const { weight, weightScale } = row.inputs as { weight: Tensor; weightScale: Tensor };
  const codes = codesOfWeight(c, row);
  const scales = c.wideParameter(weightScale, "weight_scale", row.name);
  const isPlain = weightScale.dims[1] === 1;
  return isPlain ? c.writer.node("Mul", [codes, scales]) : timesBlocks(c, codes, scales, weight.dims[1]!);
}

/** A product of codes, in float32 up to its bias, and everything behind it: [tokens, K]. Sums of numbers, not of codes: what
 *  runtimes make of a product of int8 may saturate in 16 bits. */
function linearOfCodes(c: ExportContext, row: NamedRow, tokens = tokensOfCodes(c, row)): string {
  const { inputs, name } = row;
  const operands = [tokens, rowsOfCodes(c, row)];
  if (inputs.bias) operands.push(c.wideParameter(inputs.bias, "bias", name));
  return finishedTokens(c, row, c.narrowed(c.writer.node("Gemm", operands, { transB: 1 })));
}

/** The same of tokens that are normalised and rounded first. */
function linearOfNormed(c: ExportContext, row: NamedRow): string {
  const scale = c.widened(c.read(row.inputs.normScale!, row.name).rows());
  const codes = coded(c, c.widened(normedTokens(c, row)), scale, "f8e4m3");
  return linearOfCodes(c, row, c.writer.node("Mul", [codes, scale]));
}

/** A norm of tokens, then a linear layer in 8 bits. */
export const layerNormLinearQ8 = (c: ExportContext, row: NamedRow): void =>
  c.write(row.output, c.rows(linearOfNormed(c, row), row.output.dims[3]!));

/** The same, then codes with the given scale. */
export const layerNormLinearQ8Codes = (c: ExportContext, row: NamedRow): void =>
  writeWithKnownScale(c, row, linearOfNormed(c, row));

/** A linear layer in 8 bits. */
export const linearQ8 = (c: ExportContext, row: NamedRow): void =>
  c.write(row.output, c.rows(linearOfCodes(c, row), row.output.dims[3]!));

/** A linear layer in 8 bits, then codes with the given scale. */
export const linearQ8Codes = (c: ExportContext, row: NamedRow): void =>
  writeWithKnownScale(c, row, linearOfCodes(c, row));
