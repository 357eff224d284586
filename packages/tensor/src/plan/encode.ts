import { dtypeIndex, MAX_RANK, OPS, type OpId } from "@vd/kernels-native";
import type { Pausable } from "../pausable";
import type { Row } from "../row";
import type { Tensor } from "../tensor";

/** Where a storage lies: the position of its buffer in the program's list, and the byte where it begins. */
export interface Place {
  bufferIndex: number;
  byteOffset: number;
}

const OP_NUMBERS = new Map((Object.keys(OPS) as OpId[]).map((id, index) => [id, index]));
const ABSENT = [-1, 0, 0, 1, 1, 0, 0, 0, 0, 1];
const TENSOR_WORDS = ABSENT.length;
/** Rows between two pauses. */
const PIECE = 32;

const wordsOf = ({ attrs, inputs, outputs }: Row): number =>
  1 + attrs.length + (inputs.length + outputs.length) * TENSOR_WORDS;

/** Writes a tensor's words at `at`. */
function putTensor(
  words: Float64Array,
  at: number,
  tensor: Tensor | undefined,
  placeOf: (tensor: Tensor) => Place,
): void {
  if (!tensor) {
    words.set(ABSENT, at);
    return;
  }
  const { dims } = tensor;
  const { bufferIndex, byteOffset } = placeOf(tensor);
  words[at] = bufferIndex;
  words[at + 1] = byteOffset + tensor.byteOffset;
  words[at + 2] = dtypeIndex(tensor.dtype);
  words[at + 3] = dims.length;
  for (let i = 0; i < MAX_RANK; i++) words[at + 4 + i] = dims[i] ?? 0;
  words[at + 4 + MAX_RANK] = tensor.pitch;
}

/** Rows as the numbers that native/core/validate.h reads; pauses after some rows. */
export function* encodeRows(rows: readonly Row[], placeOf: (tensor: Tensor) => Place): Pausable<Float64Array> {
  const words = new Float64Array(rows.reduce((sum, row) => sum + wordsOf(row), 0));
  let at = 0;
  for (const [i, { op, attrs, inputs, outputs }] of rows.entries()) {
    words[at] = OP_NUMBERS.get(op)!;
    words.set(attrs, at + 1);
    at += 1 + attrs.length;
    for (const tensors of [inputs, outputs])
      for (const tensor of tensors) {
        putTensor(words, at, tensor, placeOf);
        at += TENSOR_WORDS;
      }
    if (i % PIECE === PIECE - 1) yield;
  }
  return words;
}
