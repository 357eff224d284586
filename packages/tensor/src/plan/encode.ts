import { dtypeIndex, MAX_RANK, OPS, type OpId } from "@vd/kernels-native";
import type { Row } from "../row";
import type { Tensor } from "../tensor";

/** Where a storage lies: the position of its buffer in the program's list, and the byte where it begins. */
export interface Place {
  bufferIndex: number;
  byteOffset: number;
}

const OP_NUMBERS = new Map((Object.keys(OPS) as OpId[]).map((id, index) => [id, index]));
const ABSENT = [-1, 0, 0, 1, 1, 0, 0, 0, 0, 1];

function tensorWords(tensor: Tensor | undefined, placeOf: (tensor: Tensor) => Place): number[] {
  if (!tensor) return ABSENT;
  const { bufferIndex, byteOffset } = placeOf(tensor);
  const dims = Array.from({ length: MAX_RANK }, (_, i) => tensor.dims[i] ?? 0);
  const type = dtypeIndex(tensor.dtype);
  return [bufferIndex, byteOffset + tensor.byteOffset, type, tensor.dims.length, ...dims, tensor.pitch];
}

/** Rows as the numbers that native/launch/validate.h reads. */
export function encodeRows(rows: readonly Row[], placeOf: (tensor: Tensor) => Place): Float64Array {
  const words: number[] = [];
  for (const row of rows) {
    words.push(OP_NUMBERS.get(row.op)!, ...row.attrs);
    for (const tensor of [...row.inputs, ...row.outputs]) words.push(...tensorWords(tensor, placeOf));
  }
  return Float64Array.from(words);
}
