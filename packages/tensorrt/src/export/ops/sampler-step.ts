import { countOf } from "@vd/kernels-native";
import type { Tensor } from "@vd/tensor";
import type { ExportContext, NamedRow } from "../context";
import { refused } from "../refusal";
import { guidedPair, withPicture } from "./elements";
import { REFUSALS } from "./forms";
import { philoxNormals } from "./philox";

/** A summand of the step's results with its column of the coefficients. */
interface Term {
  readonly name: string;
  readonly column: number;
}

/** The denoiser's prediction, guided where there are two rows: [1,F,H,W,C]. */
function prediction(c: ExportContext, { inputs, name }: NamedRow): string {
  const both = c.wideGrid(inputs.prediction!, name);
  if (!inputs.guidance) return both;
  return guidedPair(c, both, c.widened(c.read(inputs.guidance, name).rows()), inputs.prediction!.dims[1]!);
}

/** Noise that is given or drawn; undefined where there is none. */
function noise(c: ExportContext, { inputs, attrs, name }: NamedRow): string | undefined {
  if (inputs.noise) return c.wideGrid(inputs.noise, name);
  if (!inputs.philox) return undefined;
  return philoxNormals(c, inputs.philox, { dims: inputs.x!.dims, lanes: attrs.lanes as number, row: name });
}

/** Sample, prediction, noise and history. */
function termsOf(c: ExportContext, row: NamedRow): Term[] {
  const { inputs, attrs, name } = row;
  const drawn = noise(c, row);
  const history = inputs.history && c.wideGrid(inputs.history, name);
  const remembered = Array.from({ length: attrs.numHistory as number }, (_, h) => c.part(history!, 0, h, h + 1));
  return [
    { name: c.wideGrid(inputs.x!, name), column: 0 },
    { name: prediction(c, row), column: 1 },
    ...(drawn ? [{ name: drawn, column: 2 }] : []),
    ...remembered.map((past, h) => ({ name: past, column: 3 + h })),
  ];
}

/** Rows of the coefficients times terms, [1,F,H,W,C] each: one product of all. */
function combined(c: ExportContext, row: NamedRow, terms: readonly Term[], rows: readonly number[]): string[] {
  const last = c.writer.ints([-1]);
  const stacked = terms.map((term) => c.writer.node("Unsqueeze", [term.name, last]));
  const all = c.writer.node("Concat", stacked, { axis: -1 });
  const table = c.wideGrid(row.inputs.coefficients!, row.name);
  const columns = c.writer.node("Gather", [table, c.writer.ints(terms.map(({ column }) => column))], { axis: 1 });
  const chosen = c.writer.node("Gather", [columns, c.writer.ints(rows)], { axis: 0 });
  const sums = c.writer.node("MatMul", [all, c.writer.node("Transpose", [chosen], { perm: [1, 0] })]);
  return rows.map((_, i) => c.writer.node("Squeeze", [c.part(sums, -1, i, i + 1), last]));
}

/** The divisor of dynamic thresholding: the quantile of magnitudes, between 1 and the largest that is allowed. NaN counts as ∞. */
function thresholdScale(c: ExportContext, row: NamedRow, data: string): string {
  const count = countOf(row.inputs.x!.dims);
  if (!c.sizes.isFixed(count)) throw refused(row, REFUSALS.thresholdOfFreeSize, `${count} elements when recorded`);
  // torch rounds the rank to float32, which may lead one past the end.
  const rank = Math.fround(Math.fround(row.attrs.quantile as number) * Math.fround(count - 1));
  const below = Math.min(Math.floor(rank), count - 1);
  const weight = below < count - 1 ? Math.fround(rank - below) : 0;
  const node = (op: string, ...operands: string[]) => c.writer.node(op, operands);
  const magnitudes = node("Reshape", node("Abs", data), c.writer.ints([-1]));
  const ordered = node("Where", node("IsNaN", magnitudes), c.wideScalar(Number.POSITIVE_INFINITY), magnitudes);
  const kept = count - below;
  const largest = c.writer.firstOfTwo("TopK", [ordered, c.writer.ints([kept])], { axis: 0 });
  const at = (i: number) => c.part(largest, 0, i, i + 1);
  const quantile = weight === 0 ? at(kept - 1) : between(c, at(kept - 1), at(kept - 2), weight);
  return node("Clip", quantile, c.wideScalar(1), c.wideScalar(row.attrs.maxValue as number));
}

/** Part of the way from one number to the next, from the nearer one: as torch's lerp rounds it. */
function between(c: ExportContext, below: string, above: string, weight: number): string {
  const span = c.writer.node("Sub", [above, below]);
  const part = (share: number) => c.writer.node("Mul", [span, c.wideScalar(share)]);
  if (weight < 0.5) return c.writer.node("Add", [below, part(weight)]);
  return c.writer.node("Sub", [above, part(Math.fround(1 - weight))]);
}

/** The data prediction within bounds; NaN stays. */
function bounded(c: ExportContext, row: NamedRow, data: string): string {
  const { bounds, clipRange } = row.attrs as { bounds: string; clipRange: number };
  if (bounds === "none") return data;
  const limit = bounds === "clip" ? c.wideScalar(clipRange) : thresholdScale(c, row, data);
  const least = c.writer.node("Neg", [limit]);
  const fromBelow = c.writer.node("Where", [c.writer.node("Less", [data, least]), least, data]);
  const within = c.writer.node("Where", [c.writer.node("Greater", [data, limit]), limit, fromBelow]);
  return bounds === "clip" ? within : c.writer.node("Div", [within, limit]);
}

/** Moves the pixels of which no channel is far from `previous` towards it. */
function blended(c: ExportContext, { inputs, name }: NamedRow, data: string): string {
  if (!inputs.previous) return data;
  const previous = c.wideGrid(inputs.previous, name);
  const blend = c.wideGrid(inputs.blend!, name, [1, 2]);
  const [weight, threshold] = [c.part(blend, 1, 0, 1), c.part(blend, 1, 1, 2)];
  const way = c.writer.node("Sub", [previous, data]);
  const isNear = c.writer.node("LessOrEqual", [c.writer.node("Abs", [way]), threshold]);
  const numNear = c.writer.node("ReduceMin", [c.cast(isNear, "float"), c.writer.ints([4])], { keepdims: 1 });
  const moved = c.writer.node("Add", [data, c.writer.node("Mul", [way, weight])]);
  return c.writer.node("Where", [c.cast(numNear, "bool"), moved, data]);
}

/** The term of the data prediction; none where neither bounds nor a blend need it. */
function dataTerm(c: ExportContext, row: NamedRow, terms: readonly Term[]): Term[] {
  if (row.attrs.bounds === "none" && !row.inputs.previous) return [];
  const numHistory = row.attrs.numHistory as number;
  const [data] = combined(c, row, terms, [2 + numHistory]);
  return [{ name: blended(c, row, bounded(c, row, data!)), column: 3 + numHistory }];
}

/** Notes the denoiser's next input, if it is asked for. next: [1,F,H,W,C] in float32. */
function writeInput(c: ExportContext, row: NamedRow, next: string): void {
  const { inputs, outputs, name } = row;
  if (!outputs.input) return;
  const factor = inputs.inputScale && c.wideGrid(inputs.inputScale, name, [1]);
  const latents = c.narrowed(factor ? c.writer.node("Mul", [next, factor]) : next);
  const numRows = inputs.prediction!.dims[0]!;
  const all = withPicture(c, row, { latents, dims: inputs.x!.dims, numRows });
  c.write(outputs.input, c.rows(all, outputs.input.dims[4]!));
}

/** One step of a sampler, in float32 whatever the model's type: its results are linear in its terms, as the coefficients say. */
export function samplerStep(c: ExportContext, row: NamedRow): void {
  const { outputs, attrs } = row;
  const terms = termsOf(c, row);
  const all = [...terms, ...dataTerm(c, row, terms)];
  const numHistory = attrs.numHistory as number;
  const [next, denoised, ...history] = combined(
    c,
    row,
    all,
    Array.from({ length: 2 + numHistory }, (_, i) => i),
  ) as [string, string, ...string[]];
  const write = (tensor: Tensor | undefined, name: () => string) => {
    if (tensor) c.write(tensor, c.rows(c.regroup(name(), tensor.dims[4]!), tensor.dims[4]!));
  };
  write(outputs.next, () => next);
  write(outputs.denoised, () => denoised);
  write(outputs.nextHistory, () => c.writer.node("Concat", history, { axis: 0 }));
  writeInput(c, row, next);
}
