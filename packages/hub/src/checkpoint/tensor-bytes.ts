import {
  FUNCTION,
  listOf,
  requireArgument,
  requireFields,
  requireOptions,
  TEXT,
  VdError,
  wholeFrom,
} from "@vd/kernels-native";
import { SAFETENSORS_DTYPE_BYTES } from "@vd/tensor";
import type { ExportSource, MadeSource, TensorSource } from "./tensor-source";

/** Bytes of the number 1, lowest first. */
const ONE: Readonly<Record<string, readonly number[]>> = {
  F16: [0x00, 0x3c],
  BF16: [0x80, 0x3f],
  F32: [0x00, 0x00, 0x80, 0x3f],
  F64: [0, 0, 0, 0, 0, 0, 0xf0, 0x3f],
};

/** Refuses what is no source of a tensor. @throws VdError `attr` */
function requireSource(where: string, source: TensorSource): void {
  requireOptions(where, source);
  if (!("made" in source)) requireFields(where, source, { name: TEXT, dtype: TEXT, shape: listOf(wholeFrom(0)) });
}

/**
 * The bytes of its tensor that a source consists of, counted from the tensor's start; undefined where bytes must be
 * moved or made, so that {@link sourceBytes} is needed.
 *
 * @throws VdError `dtype` for an unknown type
 */
export function sourceRange(source: TensorSource): { byteOffset: number; byteLength: number } | undefined {
  requireSource("sourceRange", source);
  if ("made" in source || source.transpose) return undefined;
  const byteLength = elementBytes(source) * countOf(source.shape);
  const [begin, end] = source.rows ?? [0, 1];
  return { byteOffset: source.rows === undefined ? 0 : (byteLength / (end - begin || 1)) * begin, byteLength };
}

/**
 * The content of a tensor in the names of the folder layout. `read` gives the bytes of a tensor of the file; the result
 * may share memory with them.
 *
 * @throws VdError `dtype` for an unknown type
 */
export function sourceBytes(source: TensorSource, read: (name: string) => Uint8Array): Uint8Array {
  requireSource("sourceBytes", source);
  requireArgument("sourceBytes read", read, FUNCTION);
  if ("made" in source) return madeBytes(source);
  const stored = read(source.name);
  const range = sourceRange(source);
  if (range !== undefined) return stored.subarray(range.byteOffset, range.byteOffset + range.byteLength);
  const [columns = 1, rows = 1] = source.shape;
  return transposed(stored, rows, columns);
}

/** The content of a tensor in the original names. `read` gives the bytes of a tensor of the named network. */
export function exportBytes(source: ExportSource, read: (name: string) => Uint8Array): Uint8Array {
  requireFields("exportBytes source", source, { names: listOf(TEXT), shape: listOf(wholeFrom(0)) });
  requireArgument("exportBytes read", read, FUNCTION);
  const parts = source.names.map(read);
  const whole = parts.length === 1 ? (parts[0] as Uint8Array) : Buffer.concat(parts);
  const [columns = 1, rows = 1] = source.shape;
  return source.transpose ? transposed(whole, rows, columns) : whole;
}

/** [rows, columns] → [columns, rows] */
function transposed(bytes: Uint8Array, rows: number, columns: number): Uint8Array {
  const size = bytes.length / (rows * columns || 1);
  const result = new Uint8Array(bytes.length);
  for (let row = 0; row < rows; row++) {
    for (let column = 0; column < columns; column++) {
      const from = (row * columns + column) * size;
      const to = (column * rows + row) * size;
      for (let i = 0; i < size; i++) result[to + i] = bytes[from + i] as number;
    }
  }
  return result;
}

function madeBytes(source: MadeSource): Uint8Array {
  const { made, dtype, shape } = source;
  const size = elementBytes(source);
  const bytes = new Uint8Array(size * countOf(shape));
  const one = ONE[dtype];
  if (one === undefined) throw unknownType(dtype);
  const [rows = 0] = shape;
  // On the diagonal of a square matrix: one element further in each row.
  for (let i = 0; made === "identity" && i < rows; i++) bytes.set(one, i * (rows + 1) * size);
  return bytes;
}

function elementBytes({ dtype }: { dtype: string }): number {
  const bytes = (SAFETENSORS_DTYPE_BYTES as Readonly<Record<string, number>>)[dtype];
  if (bytes === undefined) throw unknownType(dtype);
  return bytes;
}

function unknownType(dtype: string): VdError {
  return new VdError({ code: "dtype", where: "checkpoint", expected: Object.keys(ONE).join(", "), got: dtype });
}

function countOf(shape: readonly number[]): number {
  return shape.reduce((product, size) => product * size, 1);
}
