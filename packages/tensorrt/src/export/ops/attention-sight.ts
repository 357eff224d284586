import { toFloat16Array } from "@vd/tensor";
import type { ExportContext, NamedRow } from "../context";
import { refused } from "../refusal";
import { REFUSALS } from "./forms";

/** How scores are laid out: the mask's dimensions as they are broadcast to scores, and lengths of a sequence. */
export interface ScoreShape {
  readonly maskDims: readonly number[];
  readonly queries: number;
  readonly keys: number;
  /** Scores are float32 whatever the model's type. */
  readonly wide?: boolean;
}

/** A sequence's elements by number, what packs them, and of which packed sequence each is. */
interface Packed {
  numbers: string;
  offsets: string;
  sequence: string;
}

/** The number of the packed sequence of each element, from 1 on, [length]. */
function packed(c: ExportContext, row: NamedRow, operand: "cuQ" | "cuK", length: number): Packed {
  if (!c.sizes.isFixed(length)) throw refused(row, REFUSALS.packedFreeSize, `${length} when recorded`);
  const values = Float32Array.from({ length }, (_, i) => i);
  const numbers = c.writer.floats(`numbers[${length}]`, values, [length]);
  const starts = c.cast(c.read(row.inputs[operand]!, row.name).rows(), "float");
  const isBehind = c.cast(c.writer.node("GreaterOrEqual", [asRows(c, numbers), starts]), "float");
  const sequence = c.writer.node("ReduceSum", [isBehind, c.writer.ints([1])], { keepdims: 0 });
  return { numbers, offsets: starts, sequence };
}

/** Where in its packed sequence each element lies, [length]. Elements before all sequences lie at their own number. */
function placeInSequence(c: ExportContext, { numbers, offsets, sequence }: Packed): string {
  const last = c.writer.node("Max", [c.writer.node("Sub", [sequence, c.wideScalar(1)]), c.wideScalar(0)]);
  const flat = c.writer.node("Reshape", [offsets, c.writer.ints([-1])]);
  const start = c.writer.node("Gather", [flat, c.cast(last, "int64")], { axis: 0 });
  return c.writer.node("Sub", [numbers, c.writer.node("Max", [start, c.wideScalar(0)])]);
}

const asRows = (c: ExportContext, x: string) => c.writer.node("Unsqueeze", [x, c.writer.ints([1])]);
const asColumns = (c: ExportContext, x: string) => c.writer.node("Unsqueeze", [x, c.writer.ints([0])]);

/** Frames, rows or columns of elements at `places` of their sequence. */
function coordinate(c: ExportContext, places: string, axis: number, [rows, columns]: readonly number[]): string {
  const [step, size] = [
    [rows! * columns!, Number.POSITIVE_INFINITY],
    [columns!, rows!],
    [1, columns!],
  ][axis]!;
  const whole = c.writer.node("Floor", [c.writer.node("Div", [places, c.wideScalar(step!)])]);
  return size === Number.POSITIVE_INFINITY ? whole : c.writer.node("Mod", [whole, c.wideScalar(size!)], { fmod: 1 });
}

/** Which keys a query of packed sequences sees, [queries, keys]. */
function inSequence(c: ExportContext, row: NamedRow, { queries, keys }: ScoreShape): string {
  const { causal, window, grid } = row.attrs as { causal: boolean; window: readonly number[]; grid: readonly number[] };
  const [q, k] = [packed(c, row, "cuQ", queries), packed(c, row, "cuK", keys)];
  const isIn = c.writer.node("And", [
    c.writer.node("Greater", [q.sequence, c.wideScalar(0)]),
    c.writer.node("Less", [q.sequence, c.wideScalar(row.inputs.cuQ!.dims[0]!)]),
  ]);
  const limits = [c.writer.node("Equal", [asRows(c, q.sequence), asColumns(c, k.sequence)])];
  const [from, to] = [placeInSequence(c, q), placeInSequence(c, k)];
  if (causal) limits.push(c.writer.node("LessOrEqual", [asColumns(c, to), asRows(c, from)]));
  window.forEach((reach, axis) => {
    if (reach === 0) return;
    const [near, far] = [from, to].map((places) => coordinate(c, places, axis, grid)) as [string, string];
    const apart = c.writer.node("Abs", [c.writer.node("Sub", [asRows(c, near), asColumns(c, far)])]);
    limits.push(c.writer.node("Less", [apart, c.wideScalar(reach)]));
  });
  return limits.reduce((seen, limit) => c.writer.node("And", [seen, limit]), asRows(c, isIn));
}

/** Frame, row and column of element `i` of a sequence. */
const onGrid = (i: number, [rows, columns]: readonly number[]) =>
  [Math.floor(i / (rows! * columns!)), Math.floor(i / columns!) % rows!, i % columns!] as const;

/** Which keys the causal limit and the window leave, [queries · keys]; undefined where they leave all. */
function withinLimits(c: ExportContext, row: NamedRow, { queries, keys }: ScoreShape): boolean[] | undefined {
  const { causal, window, grid } = row.attrs as { causal: boolean; window: readonly number[]; grid: readonly number[] };
  if (!causal && window.every((reach) => reach === 0)) return undefined;
  if (!c.sizes.isFixed(queries) || !c.sizes.isFixed(keys))
    throw refused(row, REFUSALS.sightOfFreeSize, `${queries} and ${keys} when recorded`);
  const sees = (query: number, key: number) => {
    const [from, to] = [onGrid(query, grid), onGrid(key, grid)];
    return !(causal && key > query) && window.every((reach, i) => reach === 0 || Math.abs(from[i]! - to[i]!) < reach);
  };
  return Array.from({ length: queries * keys }, (_, i) => sees(Math.floor(i / keys), i % keys));
}

/** Scores before the softmax, and which of them count where a query may see no key. */
export interface Scores {
  readonly scores: string;
  /** In a shape that scores are broadcast with; undefined where every query sees a key. */
  readonly seen: string | undefined;
}

/** What the causal limit and the window do to scores: what they hide is added as -∞, or told apart where a query sees nothing. */
function limited(c: ExportContext, row: NamedRow, scores: string, shape: ScoreShape): Scores {
  const within = withinLimits(c, row, shape);
  if (!within) return { scores, seen: undefined };
  const { queries, keys, wide } = shape;
  const key = `${queries},${keys},${row.attrs.causal},${row.attrs.window},${row.attrs.grid}`;
  const seesNone = Array.from({ length: queries }, (_, i) => i).some((query) =>
    within.slice(query * keys, (query + 1) * keys).every((sees) => !sees),
  );
  if (seesNone) {
    const flags = Uint8Array.from(within, Number);
    return { scores, seen: c.writer.constant(`seen[${key}]`, [queries, keys], "bool", flags) };
  }
  const values = Float32Array.from(within, (sees) => (sees ? 0 : Number.NEGATIVE_INFINITY));
  const type = wide ? "float" : c.type;
  const data = type === "float" ? values : toFloat16Array(values);
  const added = c.writer.constant(`visible:${type}[${key}]`, [queries, keys], type, new Uint8Array(data.buffer));
  return { scores: c.writer.node("Add", [scores, added]), seen: undefined };
}

/** q kᵀ with the mask and what hides keys; q is scaled before, so that float16 does not overflow in the product. */
export function maskedScores(c: ExportContext, row: NamedRow, product: string, shape: ScoreShape): Scores {
  const { mask, cuQ } = row.inputs;
  const typed = (name: string) => (shape.wide ? c.widened(name) : c.narrowed(name));
  const flags = mask?.dtype === "u8";
  const scores =
    mask && !flags ? c.writer.node("Add", [product, typed(c.read(mask, row.name).grid(shape.maskDims, 1))]) : product;
  const own = cuQ ? { scores, seen: inSequence(c, row, shape) } : limited(c, row, scores, shape);
  if (!flags) return own;
  const numbers = c.widened(c.read(mask, row.name).grid(shape.maskDims, 1));
  const allowed = c.writer.node("Not", [c.writer.node("Equal", [numbers, c.wideScalar(0)])]);
  return { scores: own.scores, seen: own.seen ? c.writer.node("And", [own.seen, allowed]) : allowed };
}

/** Softmax of scores over the keys that are seen. Rows that see none are 0. */
export function softmaxOfSeen(c: ExportContext, { scores, seen }: Scores): string {
  if (seen === undefined) return c.writer.node("Softmax", [scores], { axis: -1 });
  // Finite, so that a row that sees nothing has numbers, which are then taken away.
  const lowest = c.type === "float" ? -3e38 : -65504;
  const masked = c.writer.node("Where", [seen, scores, c.scalar(lowest)]);
  const weights = c.writer.node("Softmax", [masked], { axis: -1 });
  return c.writer.node("Where", [seen, weights, c.scalar(0)]);
}
