import type { ExportContext, NamedRow } from "../context";
import { attend, attended } from "./attention";
import { layoutOf, sizesOf } from "./attention-layout";
import { coded, scalesOf } from "./codes";
import { writeWithKnownScale } from "./quantize";

/** Each head of each frame rounded to 8 bits and back, [tokens, E]; as it is where `type` is full. */
function roundedHeads(c: ExportContext, row: NamedRow, operand: "q" | "k" | "v", type: string): string {
  const x = c.read(row.inputs[operand]!, row.name).rows();
  if (type !== "f8e4m3" && type !== "i8") return x;
  const { heads, width } = sizesOf(row);
  const [b, f, tokens] = row.inputs[operand]!.dims as [number, number, number];
  const shape = c.sizes.shape([b * f, tokens, heads, width], [2, 3]);
  const split = c.writer.node("Reshape", [c.widened(x), shape]);
  const scales = scalesOf(c, split, [1, 3], type);
  const numbers = c.writer.node("Mul", [coded(c, split, scales, type), scales]);
  return c.regroup(c.narrowed(numbers), heads * width);
}

/** A row with the attributes of attention that it has no choice of. */
const asAttention = (row: NamedRow): NamedRow => ({
  ...row,
  attrs: { axis: "space", causal: false, window: [0, 0, 0], grid: [1, 1], ...row.attrs },
});

/** Attention of operands that are rounded to 8 bits. Probabilities are not rounded, as in the definition. */
export function attentionQ8(c: ExportContext, row: NamedRow): void {
  const whole = asAttention(row);
  const { scores, values } = row.attrs as { scores: string; values: string };
  const [q, k] = [roundedHeads(c, row, "q", scores), roundedHeads(c, row, "k", scores)];
  attend(c, whole, { q, k, v: roundedHeads(c, row, "v", values) }, layoutOf(whole));
}

/** What float8 codes of the operands stand for, each times its scale. */
function numbersOfCodes(c: ExportContext, row: NamedRow) {
  const numbersOf = (operand: string) => {
    const [codes, scale] = [row.inputs[operand]!, row.inputs[`${operand}Scale`]!];
    const numbers = c.writer.node("Mul", [c.wideGrid(codes, row.name), c.wideGrid(scale, row.name)]);
    return c.narrowed(c.regroup(numbers, codes.dims[3]!));
  };
  return { q: numbersOf("q"), k: numbersOf("k"), v: numbersOf("v") };
}

/** Attention of float8 codes. */
export function attentionF8(c: ExportContext, row: NamedRow): void {
  const whole = asAttention(row);
  attend(c, whole, numbersOfCodes(c, row), layoutOf(whole));
}

/** The same, then codes with the given scale. */
export function attentionF8Codes(c: ExportContext, row: NamedRow): void {
  const whole = asAttention(row);
  writeWithKnownScale(c, row, attended(c, whole, numbersOfCodes(c, row), layoutOf(whole)).y);
}
