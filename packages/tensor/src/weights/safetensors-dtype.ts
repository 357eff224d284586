/**
 * Bytes per element of every element type read here, largest alignment first.
 * Source: huggingface/safetensors safetensors/src/tensor.rs `Dtype`.
 */
export const SAFETENSORS_DTYPE_BYTES = {
  F64: 8,
  I64: 8,
  U64: 8,
  F32: 4,
  I32: 4,
  U32: 4,
  F16: 2,
  BF16: 2,
  I16: 2,
  U16: 2,
  F8_E4M3: 1,
  F8_E5M2: 1,
  I8: 1,
  U8: 1,
  BOOL: 1,
} as const;

/** An element type as a safetensors header spells it. */
export type SafetensorsDtype = keyof typeof SAFETENSORS_DTYPE_BYTES;

/** True for a spelling that {@link SAFETENSORS_DTYPE_BYTES} lists. */
export function isSafetensorsDtype(value: unknown): value is SafetensorsDtype {
  return typeof value === "string" && Object.hasOwn(SAFETENSORS_DTYPE_BYTES, value);
}

/**
 * Bytes of a dense tensor of this type and shape [..], or undefined where the product leaves the safe integers.
 * A zero ends the product early, as the format's own checked multiplication does.
 */
export function tensorBytes(dtype: SafetensorsDtype, shape: readonly number[]): number | undefined {
  let elements = 1;
  for (const size of shape) {
    elements *= size;
    if (!Number.isSafeInteger(elements)) return undefined;
  }
  const bytes = elements * SAFETENSORS_DTYPE_BYTES[dtype];
  return Number.isSafeInteger(bytes) ? bytes : undefined;
}
