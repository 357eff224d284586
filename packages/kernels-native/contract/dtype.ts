/** Element types in the order the C++ side numbers them, with their size in bytes. */
export const DTYPES = { f32: 4, f16: 2, bf16: 2, i32: 4, u8: 1, i8: 1, f8e4m3: 1 } as const;

/** An element type of a tensor. On the host `f16` and `bf16` are raw bits in a `Uint16Array`, `f8e4m3` in a `Uint8Array`. */
export type DType = keyof typeof DTYPES;

/** Element types by their number on the C++ side. */
export const DTYPE_NAMES = Object.keys(DTYPES) as readonly DType[];

/** The number of `dtype` on the C++ side. */
export function dtypeIndex(dtype: DType): number {
  return DTYPE_NAMES.indexOf(dtype);
}

/** Activations and statistics. */
export const FLOATS = ["f32", "f16", "bf16"] as const satisfies readonly DType[];

/** Numbers in 8 bits that a scale belongs to: float8 e4m3 (largest 448, no infinities) and symmetric integers (−127…127). */
export const QUANTIZED = ["f8e4m3", "i8"] as const satisfies readonly DType[];
