import type { Tensor } from "@vd/tensor";
import { type ExportContext, type NamedRow, unmapped } from "../context";

/** A sequence's elements by number, what packs them, and of which packed sequence each is. */
interface Packed {
  numbers: string;
  offsets: string;
  sequence: string;
}

/** The number of the packed sequence of each element, from 1 on, [length]. */
function packed(c: ExportContext, row: NamedRow, offsets: Tensor, length: number): Packed {
  if (!c.sizes.isFixed(length))
    throw unmapped(row.op, row.name, "fixed lengths of packed sequences", `${length} when recorded`);
  const values = Float32Array.from({ length }, (_, i) => i);
  const numbers = c.writer.floats(`numbers[${length}]`, values, [length]);
  const column = c.writer.node("Unsqueeze", [numbers, c.writer.ints([1])]);
  const starts = c.widened(c.read(offsets, row.name).rows());
  const isBehind = c.cast(c.writer.node("GreaterOrEqual", [column, starts]), "float");
  const sequence = c.writer.node("ReduceSum", [isBehind, c.writer.ints([1])], { keepdims: 0 });
  return { numbers, offsets: starts, sequence };
}

/** Where in its packed sequence each element lies, [length]. Elements before all sequences lie at their own number. */
function placeInSequence(c: ExportContext, { numbers, offsets, sequence }: Packed): string {
  const zero = c.writer.floats("zero", new Float32Array(1), [1]);
  const last = c.writer.node("Max", [
    c.writer.node("Sub", [sequence, c.writer.floats("one", Float32Array.of(1), [1])]),
    zero,
  ]);
  const flat = c.writer.node("Reshape", [offsets, c.writer.ints([-1])]);
  const start = c.writer.node("Gather", [flat, c.cast(last, "int64")], { axis: 0 });
  return c.writer.node("Sub", [numbers, start]);
}

const asRows = (c: ExportContext, x: string) => c.writer.node("Unsqueeze", [x, c.writer.ints([1])]);
const asColumns = (c: ExportContext, x: string) => c.writer.node("Unsqueeze", [x, c.writer.ints([0])]);

/** Which keys a query of packed sequences sees, [queries, keys]. */
function inSequence(c: ExportContext, row: NamedRow, queries: number, keys: number): string {
  const { cuQ, cuK } = row.inputs as { cuQ: Tensor; cuK: Tensor };
  const [q, k] = [packed(c, row, cuQ, queries), packed(c, row, cuK, keys)];
  const number = (value: number) => c.writer.floats(`number[${value}]`, Float32Array.of(value), [1]);
  const isIn = c.writer.node("And", [
    c.writer.node("Greater", [q.sequence, number(0)]),
    c.writer.node("Less", [q.sequence, number(cuQ.dims[0]!)]),
  ]);
  const isSame = c.writer.node("Equal", [asRows(c, q.sequence), asColumns(c, k.sequence)]);
  const sees = c.writer.node("And", [isSame, asRows(c, isIn)]);
  if (!row.attrs.causal) return sees;
  const places = [asColumns(c, placeInSequence(c, k)), asRows(c, placeInSequence(c, q))];
  return c.writer.node("And", [sees, c.writer.node("LessOrEqual", places)]);
}

/**
 * Which keys queries see by packed sequences and by a mask of zeros, in a shape that scores are broadcast with; undefined where
 * neither is given. maskDims: those of the mask as scores take it.
 *
 * @throws VdError `unsupported`
 */
export function sight(
  c: ExportContext,
  row: NamedRow,
  { maskDims, queries, keys }: { maskDims: readonly number[]; queries: number; keys: number },
): string | undefined {
  const { inputs, attrs, name } = row;
  if (inputs.cuQ && (attrs.window as readonly number[]).some((reach) => reach > 0))
    throw unmapped(row.op, name, "packed sequences without a window", "both");
  const packedSight = inputs.cuQ ? inSequence(c, row, queries, keys) : undefined;
  if (inputs.mask?.dtype !== "u8") return packedSight;
  const zero = c.writer.floats("zero", new Float32Array(1), [1]);
  const mask = c.widened(c.read(inputs.mask, name).grid(maskDims, 1));
  const isSeen = c.writer.node("Not", [c.writer.node("Equal", [mask, zero])]);
  return packedSight === undefined ? isSeen : c.writer.node("And", [packedSight, isSeen]);
}

/** Softmax of scores over the keys that are seen. Rows that see none are 0. */
export function softmaxOfSeen(c: ExportContext, scores: string, seen: string): string {
  // Finite, so that a row that sees nothing has numbers, which are then taken away.
  const lowest = c.type === "float" ? -3e38 : -65504;
  const masked = c.writer.node("Where", [seen, scores, c.scalar(lowest)]);
  const weights = c.writer.node("Softmax", [masked], { axis: -1 });
  return c.writer.node("Where", [seen, weights, c.scalar(0)]);
}
