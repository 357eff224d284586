import type { ExportContext, NamedRow } from "../context";
import { type AttentionLayout, apart, layoutApart, perQuery, sizesOf, together } from "./attention-layout";
import { maskedScores } from "./attention-sight";

const lastTwoSwapped = (c: ExportContext, x: string) => c.writer.node("Transpose", [x], { perm: [0, 1, 2, 4, 3] });

/** Log-sum-exp [B,F,heads,S] as one column for each sequence of the layout. */
function logSumColumn(c: ExportContext, row: NamedRow): string {
  const { b, f, s, heads } = sizesOf(row);
  const grid = c.wideGrid(row.inputs.lse!, row.name, [b, f, heads, s]);
  const isTime = row.attrs.axis === "time";
  const moved = isTime ? c.writer.node("Transpose", [grid], { perm: [0, 3, 2, 1] }) : grid;
  return c.writer.node("Unsqueeze", [moved, c.writer.ints([4])]);
}

/** exp(scale · q kᵀ + mask − lse), 0 where a key is not seen and for queries that see none. */
function probabilities(c: ExportContext, row: NamedRow, product: string, layout: AttentionLayout): string {
  const { scores, seen } = maskedScores(c, row, product, { ...layout, wide: true });
  const lse = logSumColumn(c, row);
  const isAny = c.writer.node("Greater", [lse, c.wideScalar(Number.NEGATIVE_INFINITY)]);
  const counts = seen ? c.writer.node("And", [isAny, seen]) : isAny;
  const p = c.writer.node("Exp", [c.writer.node("Sub", [scores, lse])]);
  return c.writer.node("Where", [counts, p, c.wideScalar(0)]);
}

/** Notes a gradient with heads apart as that of tokens; one of keys that serve all frames is summed over them. */
function writeGradient(
  c: ExportContext,
  row: NamedRow,
  layout: AttentionLayout,
  { name, gradient }: { name: "dq" | "dk" | "dv"; gradient: string },
): void {
  const tensor = row.outputs[name]!;
  const { f, fk } = sizesOf(row);
  const isShared = name !== "dq" && row.attrs.axis !== "time" && fk !== f;
  const sum = isShared ? c.writer.node("ReduceSum", [gradient, c.writer.ints([1])], { keepdims: 1 }) : gradient;
  const channels = tensor.dims[3]!;
  c.write(tensor, c.rows(c.narrowed(together(c, layout, sum, channels)), channels));
}

/** Gradients of attention, each as its formula: with p = exp(score − lse) and ds = scale · p · (dy vᵀ − delta), dq = ds k,
 *  dk = dsᵀ q and dv = pᵀ dy. All in float32: differences of products. */
export function attentionBackward(c: ExportContext, row: NamedRow): void {
  const { attrs, inputs, outputs } = row;
  const layout = layoutApart(row);
  const of = (operand: string, as: "q" | "k" | "v") =>
    apart(c, row, layout, { name: c.widened(c.read(inputs[operand]!, row.name).rows()), as });
  const [q, k, v, y, dy] = [of("q", "q"), of("k", "k"), of("v", "v"), of("y", "q"), of("dy", "q")];
  const product = (a: string, b: string) => c.writer.node("MatMul", [a, b]);
  const scaledBy = (x: string) => c.writer.node("Mul", [x, c.wideScalar(attrs.scale as number)]);
  const delta = c.writer.node("ReduceSum", [c.writer.node("Mul", [dy, y]), c.writer.ints([-1])], { keepdims: 1 });
  c.write(outputs.delta!, c.rows(perQuery(c, row, delta), outputs.delta!.dims[3]!));
  if (!outputs.dq && !outputs.dk && !outputs.dv) return;
  const p = probabilities(c, row, scaledBy(product(q, lastTwoSwapped(c, k))), layout);
  const dp = c.writer.node("Sub", [product(dy, lastTwoSwapped(c, v)), delta]);
  const ds = scaledBy(c.writer.node("Mul", [p, dp]));
  const gradients = {
    dq: () => product(ds, k),
    dk: () => product(lastTwoSwapped(c, ds), q),
    dv: () => product(lastTwoSwapped(c, p), dy),
  };
  for (const name of ["dq", "dk", "dv"] as const)
    if (outputs[name]) writeGradient(c, row, layout, { name, gradient: gradients[name]() });
}
