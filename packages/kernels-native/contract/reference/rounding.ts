/** Rounds half to even. */
export const halfToEven = (v: number): number =>
  v % 1 === 0.5 || v % 1 === -0.5 ? 2 * Math.round(v / 2) : Math.round(v);

/** The number of float8 e4m3 nearest to `v`, ties to even, at most 448 in size; NaN stays. Source:
 *  https://arxiv.org/abs/2209.05433. */
export function roundToE4m3(v: number): number {
  if (Number.isNaN(v) || v === 0) return v;
  if (Math.abs(v) >= 448) return Math.sign(v) * 448;
  const binade = Math.max(2 ** Math.floor(Math.log2(Math.abs(v))), 2 ** -6);
  return (halfToEven((8 * v) / binade) * binade) / 8;
}

/** The integer nearest to `v`, ties to even, from −127 to 127; 0 for NaN. */
export const roundToInt8 = (v: number): number => (Number.isNaN(v) ? 0 : Math.max(-127, Math.min(halfToEven(v), 127)));

/** The scale that codes have whose numbers are at most `magnitude` in size, as quantize finds it. */
export const scaleOfCodes = (magnitude: number, isInt8: boolean): number =>
  Math.max(Math.fround(magnitude / (isInt8 ? 127 : 448)), 2 ** -126);

/** The code of v, as quantize finds it: every operation is rounded to float32. */
export function roundToCode(v: number, scale: number, isInt8: boolean): number {
  const scaled = Math.fround(v * Math.fround(1 / scale));
  return isInt8 ? roundToInt8(scaled) : roundToE4m3(scaled);
}
