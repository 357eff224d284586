import type { DType } from "@vd/kernels-native";
import { elementBytes, fromBfloat16Array, fromFloat16Array, type Tensor, toFloat16Array } from "@vd/tensor";
import { ELEMENT_BYTES, type ElementType } from "./schema";

/** Types in which weights and activations are exported. */
export type WeightType = "float" | "float16";

/** Types of weights in 8 bits, which are exported as they are stored. */
export const CODE_TYPES = { i8: "int8", f8e4m3: "float8e4m3fn" } as const satisfies Partial<Record<DType, ElementType>>;

/** A type of {@link CODE_TYPES} in the recording. */
export type CodeType = keyof typeof CODE_TYPES;

/** One of {@link CODE_TYPES} as ONNX calls it. */
export type OnnxCodeType = (typeof CODE_TYPES)[CodeType];

/** Elements of a checkpoint that lie in memory or in a mapped file, read in slices when their turn comes. */
export interface WeightSource {
  /** Bytes of all elements as they are exported. */
  readonly byteLength: number;
  /** Where the elements lie; equal for the same elements. */
  readonly place: string;
  /** The elements in order as exported, slice after slice; a slice is valid until the next one is asked for. */
  slices(): Generator<Uint8Array>;
}

/** Elements of one slice: 8 MiB of float32. */
const SLICE_ELEMENTS = 2 ** 21;

/** Stored bytes, which start their own buffer, as float32 numbers. */
function toFloat32(stored: Uint8Array, from: DType): Float32Array {
  const count = stored.byteLength / elementBytes(from);
  if (from === "f32") return new Float32Array(stored.buffer, stored.byteOffset, count);
  const codes = new Uint16Array(stored.buffer, stored.byteOffset, count);
  return from === "f16" ? fromFloat16Array(codes) : fromBfloat16Array(codes);
}

/** Stored elements in the exported type; the same bytes where the types agree. */
function convert(stored: Uint8Array, from: DType, to: WeightType | OnnxCodeType): Uint8Array {
  if ((from === "f32" && to === "float") || (from === "f16" && to === "float16")) return stored;
  if (to !== "float" && to !== "float16") return stored;
  const values = toFloat32(stored, from);
  const result = to === "float" ? values : toFloat16Array(values);
  return new Uint8Array(result.buffer, result.byteOffset, result.byteLength);
}

/** The elements `begin` to `end` of a packed weight as they are exported. */
export function weightSource(tensor: Tensor, to: WeightType | OnnxCodeType, begin: number, end: number): WeightSource {
  const { storage, dtype, byteOffset } = tensor;
  const { buffer, byteOffset: base } = storage.place!;
  const item = elementBytes(dtype);
  const start = base + byteOffset + begin * item;
  return {
    byteLength: (end - begin) * ELEMENT_BYTES[to],
    place: `${storage.id}:${start}`,
    *slices() {
      const numElements = end - begin;
      const scratch = new Uint8Array(Math.min(SLICE_ELEMENTS, numElements) * item);
      for (let at = 0; at < numElements; at += SLICE_ELEMENTS) {
        const part = scratch.subarray(0, Math.min(SLICE_ELEMENTS, numElements - at) * item);
        yield convert(buffer.readSync(part, start + at * item), dtype, to);
      }
    },
  };
}
