/** Value of a float8 code with `exponentBits`, counting its specials as the type `e4m3fn` or `e5m2` does. */
function decodeFloat8(code: number, exponentBits: 4 | 5): number {
  const mantissaBits = 7 - exponentBits;
  const bias = 2 ** (exponentBits - 1) - 1;
  const sign = code & 0x80 ? -1 : 1;
  const exponent = (code >> mantissaBits) & (2 ** exponentBits - 1);
  const mantissa = code & (2 ** mantissaBits - 1);
  if (exponentBits === 4 && (code & 0x7f) === 0x7f) return Number.NaN;
  if (exponentBits === 5 && exponent === 31) return mantissa === 0 ? sign * Number.POSITIVE_INFINITY : Number.NaN;
  if (exponent === 0) return sign * mantissa * 2 ** (1 - bias - mantissaBits);
  return sign * (1 + mantissa / 2 ** mantissaBits) * 2 ** (exponent - bias);
}

const table = (exponentBits: 4 | 5) =>
  Float32Array.from({ length: 256 }, (_, code) => decodeFloat8(code, exponentBits));

/** float32 value of each of the 256 codes of float8 e4m3 (no infinities). Source: https://arxiv.org/abs/2209.05433. */
export const FLOAT8_E4M3_VALUES: Readonly<Float32Array> = table(4);

/** float32 value of each of the 256 codes of float8 e5m2. Source: https://arxiv.org/abs/2209.05433. */
export const FLOAT8_E5M2_VALUES: Readonly<Float32Array> = table(5);

/** The largest number of float8 e4m3. */
export const FLOAT8_E4M3_MAX = 448;

/** The float8 e4m3 code of the float32 nearest to `value`, ties to even, beyond ±448 the largest; NaN is 0x7f. What
 *  `cvt.rn.satfinite.e4m3x2.f32` does, and torch's float8_e4m3fn for numbers that it can hold. */
export function float32ToFloat8(value: number): number {
  const magnitude = Math.abs(Math.fround(value));
  if (Number.isNaN(magnitude)) return 0x7f;
  const sign = Math.sign(value) < 0 || Object.is(value, -0) ? 0x80 : 0;
  // Numbers below 2^-6 are multiples of 2^-9; above, eight steps to each power of two.
  const exponent = Math.max(Math.floor(Math.log2(Math.max(magnitude, 2 ** -6))), -6);
  const step = 2 ** (exponent - 3);
  const steps = magnitude / step;
  const floor = Math.floor(steps);
  const rest = steps - floor;
  const rounded = floor + (rest > 0.5 || (rest === 0.5 && floor % 2 === 1) ? 1 : 0);
  const limited = Math.min(rounded * step, FLOAT8_E4M3_MAX);
  return sign | codeOfMagnitude(limited);
}

/** The code of a number that float8 e4m3 has. */
function codeOfMagnitude(magnitude: number): number {
  if (magnitude < 2 ** -6) return magnitude * 2 ** 9;
  const exponent = Math.floor(Math.log2(magnitude));
  return ((exponent + 7) << 3) | (magnitude / 2 ** (exponent - 3) - 8);
}

/** The float8 e4m3 codes [n] of float32 values [n], see {@link float32ToFloat8}. */
export function toFloat8Array(values: Float32Array): Uint8Array {
  return Uint8Array.from(values, float32ToFloat8);
}

/** The float32 values [n] of float8 e4m3 codes [n]. */
export function fromFloat8Array(codes: Uint8Array): Float32Array {
  return Float32Array.from(codes, (code) => FLOAT8_E4M3_VALUES[code]!);
}
