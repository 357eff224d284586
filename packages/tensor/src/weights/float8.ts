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
