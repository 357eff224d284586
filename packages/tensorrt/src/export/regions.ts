import { countOf, VdError } from "@vd/kernels-native";
import { describe, elementBytes, type Tensor } from "@vd/tensor";

/** A tensor of the recording as a rectangle of its storage: pixels step by `pitch`, elements of one lie side by side. */
export interface Rectangle {
  readonly begin: number;
  readonly numRows: number;
  readonly numColumns: number;
  readonly pitch: number;
}

/** A rectangle that was written, with what it holds. */
interface Write<V> {
  readonly place: Rectangle;
  readonly value: V;
}

/** How a rectangle that is read is made of what was written. */
export type Resolution<V> =
  | { kind: "whole"; value: V }
  | { kind: "regrouped"; value: V }
  | { kind: "columns"; value: V; begin: number; end: number }
  | { kind: "regroupedColumns"; value: V; width: number; begin: number; end: number }
  | { kind: "rowRange"; value: V; begin: number; end: number }
  | { kind: "sideBySide"; values: readonly V[] }
  | { kind: "stacked"; values: readonly V[] };

/** The rectangle of a tensor. */
function rectangleOf({ dims, pitch, byteOffset, dtype }: Tensor): Rectangle {
  const numColumns = dims[dims.length - 1] ?? 1;
  return { begin: byteOffset / elementBytes(dtype), numRows: countOf(dims) / numColumns, numColumns, pitch };
}

const spanOf = ({ numRows, numColumns, pitch }: Rectangle) => (numRows - 1) * pitch + numColumns;
const isPacked = (r: Rectangle) => r.pitch === r.numColumns || r.numRows === 1;
const sizeOf = (r: Rectangle) => r.numRows * r.numColumns;

function overlaps(a: Rectangle, b: Rectangle): boolean {
  if (a.begin >= b.begin + spanOf(b) || b.begin >= a.begin + spanOf(a)) return false;
  if (a.pitch !== b.pitch || isPacked(a) || isPacked(b)) return true;
  const column = (r: Rectangle) => r.begin % a.pitch;
  return column(a) < column(b) + b.numColumns && column(b) < column(a) + a.numColumns;
}

const covers = (a: Rectangle, b: Rectangle) =>
  isPacked(a) && a.begin <= b.begin && a.begin + spanOf(a) >= b.begin + spanOf(b);

const same = (a: Rectangle, b: Rectangle) =>
  a.begin === b.begin &&
  a.numRows === b.numRows &&
  a.numColumns === b.numColumns &&
  (a.pitch === b.pitch || a.numRows === 1);

/** Knows what every part of every storage holds at this point of the recording. Rows of a recording write into views
 *  and read views; ONNX has values only, so each read is traced back to the values that make it up. */
export class Regions<V> {
  private readonly writes = new Map<number, Write<V>[]>();

  /** Notes that `tensor` now holds `value`; what it replaces is forgotten. */
  write(tensor: Tensor, value: V): void {
    const place = rectangleOf(tensor);
    const older = (this.writes.get(tensor.storage.id) ?? []).filter(
      (write) => !(same(write.place, place) || covers(place, write.place)),
    );
    this.writes.set(tensor.storage.id, [...older, { place, value }]);
  }

  /** True if something was written to the tensor's storage. */
  knows(tensor: Tensor): boolean {
    return this.writes.has(tensor.storage.id);
  }

  /**
   * How `tensor` is made of what was written.
   *
   * @throws VdError `unsupported` naming the reading row
   */
  resolve(tensor: Tensor, row: string): Resolution<V> {
    const wanted = rectangleOf(tensor);
    const found = (this.writes.get(tensor.storage.id) ?? []).filter(({ place }) => overlaps(place, wanted));
    const resolution = found.length === 1 ? withinOne(found[0]!, wanted) : ofSeveral(found, wanted);
    if (resolution) return resolution;
    throw new VdError({
      code: "unsupported",
      where: `export] [${row}`,
      expected: "an operand that is one result, a range of one, or results side by side",
      got: `${describe(tensor)} over ${found.length} results`,
      hint: "Record the model without chunks of frames: the runtime plans its own memory.",
    });
  }
}

function withinOne<V>({ place, value }: Write<V>, wanted: Rectangle): Resolution<V> | undefined {
  if (same(place, wanted)) return { kind: "whole", value };
  const offset = wanted.begin - place.begin;
  if (isPacked(place) && isPacked(wanted) && offset === 0 && sizeOf(place) === sizeOf(wanted))
    return { kind: "regrouped", value };
  const fits = place.pitch === wanted.pitch && wanted.numRows === place.numRows;
  if (fits && offset >= 0 && offset + wanted.numColumns <= place.numColumns)
    return { kind: "columns", value, begin: offset, end: offset + wanted.numColumns };
  if (
    isPacked(place) &&
    isPacked(wanted) &&
    wanted.numColumns === place.numColumns &&
    offset % place.numColumns === 0
  ) {
    const begin = offset / place.numColumns;
    if (begin >= 0 && begin + wanted.numRows <= place.numRows)
      return { kind: "rowRange", value, begin, end: begin + wanted.numRows };
  }
  const width = sizeOf(place) / wanted.numRows;
  if (isPacked(place) && width === wanted.pitch && offset >= 0 && offset + wanted.numColumns <= width)
    return { kind: "regroupedColumns", value, width, begin: offset, end: offset + wanted.numColumns };
  return undefined;
}

function ofSeveral<V>(found: readonly Write<V>[], wanted: Rectangle): Resolution<V> | undefined {
  if (found.length === 0) return undefined;
  const sorted = [...found].sort((a, b) => a.place.begin - b.place.begin);
  const values = sorted.map(({ value }) => value);
  let column = wanted.begin;
  const sideBySide = sorted.every(({ place }) => {
    const fits = place.begin === column && place.numRows === wanted.numRows && place.pitch === wanted.pitch;
    column += place.numColumns;
    return fits;
  });
  if (sideBySide && column === wanted.begin + wanted.numColumns) return { kind: "sideBySide", values };
  let next = wanted.begin;
  const stacked = sorted.every(({ place }) => {
    const fits = place.begin === next && isPacked(place) && place.numColumns === wanted.numColumns;
    next += sizeOf(place);
    return fits;
  });
  if (stacked && isPacked(wanted) && next === wanted.begin + sizeOf(wanted)) return { kind: "stacked", values };
  return undefined;
}
