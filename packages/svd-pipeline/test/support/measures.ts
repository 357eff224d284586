/** 10 · log10(255² / mean squared difference), in dB. */
export function psnr(a: Uint8Array, b: Uint8Array): number {
  if (a.length !== b.length) return Number.NEGATIVE_INFINITY;
  const sum = a.reduce((total, value, i) => total + (value - b[i]!) ** 2, 0);
  return 10 * Math.log10((255 * 255 * a.length) / sum);
}

/** Standard deviation of all values. */
export function deviation(values: Uint8Array): number {
  const mean = values.reduce((sum, value) => sum + value, 0) / values.length;
  return Math.sqrt(values.reduce((sum, value) => sum + (value - mean) ** 2, 0) / values.length);
}

/** True if all bytes are the same. */
export const sameBytes = (a: Uint8Array, b: Uint8Array): boolean => Buffer.compare(a, b) === 0;
