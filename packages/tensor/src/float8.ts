import { refuseNumber, requireArray } from "./typed-arrays";

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

const scratch = new Float32Array(1);
const scratchBits = new Uint32Array(scratch.buffer);
/** 448, 2^-6 (the smallest normal number) and 2^14 as float32 bits. */
const [largest, smallestNormal, aboveSubnormals] = [0x43e0_0000, 0x3c80_0000, 0x4680_0000];

function float32BitsToFloat8(bits: number): number {
  const magnitude = bits & 0x7fff_ffff;
  if (magnitude > 0x7f80_0000) return 0x7f;
  const sign = (bits >>> 24) & 0x80;
  if (magnitude >= largest) return sign | 0x7e;
  if (magnitude >= smallestNormal)
    // Rebias the exponent from 127 to 7; the carry of the rounding goes into the exponent.
    return sign | ((magnitude - 0x3c00_0000 + 0x7_ffff + ((magnitude >>> 20) & 1)) >>> 20);
  // Adding 2^14 rounds to multiples of 2^-9 and leaves their number at the bottom of the mantissa.
  scratchBits[0] = magnitude;
  scratch[0] = scratch[0]! + 2 ** 14;
  return sign | (scratchBits[0]! - aboveSubnormals);
}

/** The float8 e4m3 code of the float32 nearest to `value`, ties to even, beyond ±448 the largest; NaN is 0x7f. What
 *  `cvt.rn.satfinite.e4m3x2.f32` does, and torch's float8_e4m3fn for numbers that it can hold. */
export function float32ToFloat8(value: number): number {
  if (typeof value !== "number") refuseNumber("float32ToFloat8", value);
  scratch[0] = value;
  return float32BitsToFloat8(scratchBits[0]!);
}

/**
 * The float8 e4m3 codes [n] of float32 values [n], see {@link float32ToFloat8}.
 *
 * @throws VdError `dtype` for another array
 */
export function toFloat8Array(values: Float32Array): Uint8Array {
  requireArray("toFloat8Array", values, "Float32Array");
  const bits = new Uint32Array(values.buffer, values.byteOffset, values.length);
  const codes = new Uint8Array(bits.length);
  for (let i = 0; i < bits.length; i++) codes[i] = float32BitsToFloat8(bits[i]!);
  return codes;
}

/**
 * The float32 values [n] of float8 e4m3 codes [n].
 *
 * @throws VdError `dtype` for another array
 */
export function fromFloat8Array(codes: Uint8Array): Float32Array {
  requireArray("fromFloat8Array", codes, "Uint8Array");
  return Float32Array.from(codes, (code) => FLOAT8_E4M3_VALUES[code]!);
}
