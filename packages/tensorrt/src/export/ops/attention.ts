import type { ExportContext, NamedRow } from "../context";
import { type AttentionLayout, apart, layoutOf, perQuery, together } from "./attention-layout";
import { maskedScores, type Scores, softmaxOfSeen } from "./attention-sight";
import { scaled } from "./epilogue";

/** Queries, keys and values, [tokens, E] each. */
export interface Operands {
  readonly q: string;
  readonly k: string;
  readonly v: string;
}

/** Logarithms of the sums that the softmax divides by, in float32; -∞ for a query that sees no key. */
function logSums(c: ExportContext, { scores, seen }: Scores): string {
  const wide = c.widened(scores);
  const counted = seen ? c.writer.node("Where", [seen, wide, c.wideScalar(Number.NEGATIVE_INFINITY)]) : wide;
  return c.writer.node("ReduceLogSumExp", [counted, c.writer.ints([-1])], { keepdims: 1 });
}

/** softmax(scale · q kᵀ + mask) v of operands that were read, [tokens, E], and its scores, as two products and a softmax: the form that
 *  runtimes replace by a fused kernel. */
export function attended(c: ExportContext, row: NamedRow, { q, k, v }: Operands, layout: AttentionLayout) {
  const { attrs, output } = row;
  const queries = scaled(c, apart(c, row, layout, { name: q, as: "q" }), attrs.scale as number);
  const product = c.writer.node("MatMul", [queries, apart(c, row, layout, { name: k, as: "kTransposed" })]);
  const scored = maskedScores(c, row, product, layout);
  const values = apart(c, row, layout, { name: v, as: "v" });
  const y = c.writer.node("MatMul", [softmaxOfSeen(c, scored), values]);
  return { y: together(c, layout, y, output.dims[3]!), scored };
}

/** The same as the row's results. */
export function attend(c: ExportContext, row: NamedRow, operands: Operands, layout: AttentionLayout): void {
  const { output, outputs } = row;
  const { y, scored } = attended(c, row, operands, layout);
  c.write(output, c.rows(y, output.dims[3]!));
  if (outputs.lse) c.write(outputs.lse, c.rows(perQuery(c, row, logSums(c, scored)), outputs.lse.dims[3]!));
}

/** Attention over the tokens of a frame or over frames. */
export function attention(c: ExportContext, row: NamedRow): void {
  const rowsOf = (operand: string) => c.read(row.inputs[operand]!, row.name).rows();
  attend(c, row, { q: rowsOf("q"), k: rowsOf("k"), v: rowsOf("v") }, layoutOf(row));
}
