/** Taps of one axis of a 3-tap filter that reach each tap of the 4-tap one of the transposed convolution, step 2, padding 1. */
const REACHING = [[2], [1, 2], [0, 1], [0]] as const;

/**
 * Returns the 4x4 filters of the transposed convolution, steps of 2 and a padding of 1, that is the same as nearest-2x and then 3x3
 * filters with a padding of 1: each tap is the sum of those that reach it. filters: [n,3,3], one behind the other; the result is [n,4,4].
 */
export function foldUpsampling(filters: Float32Array): Float32Array {
  const folded = new Float32Array((filters.length / 9) * 16);
  for (let filter = 0; filter * 9 < filters.length; filter++)
    for (let tap = 0; tap < 16; tap++) {
      let sum = 0;
      for (const r of REACHING[tap >> 2]!) for (const s of REACHING[tap & 3]!) sum += filters[filter * 9 + r * 3 + s]!;
      folded[filter * 16 + tap] = sum;
    }
  return folded;
}
