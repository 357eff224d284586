/** Most dimensions a tensor may have: activations are [B,F,H,W,C]. */
export const MAX_RANK = 5;

/** The largest single dimension and element count: far beyond any memory, far below 2^53. */
export const MAX_ELEMENTS = 2 ** 46;

/** Device allocations and arena offsets are multiples of this many bytes. */
export const ARENA_ALIGNMENT_BYTES = 256;

/** Elements a view with `dims` and `pitch` spans, from its first to its last: (pixels − 1) · pitch + channels. */
export function spanOf(dims: readonly number[], pitch: number): number {
  const channels = dims[dims.length - 1] ?? 1;
  return (countOf(dims) / channels - 1) * pitch + channels;
}

/** The number of elements of a tensor with `dims`. */
export function countOf(dims: readonly number[]): number {
  return dims.reduce((product, dim) => product * dim, 1);
}
