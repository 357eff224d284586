/**
 * Conversions between float32 and the two 16-bit float types, as IEEE 754 and torch define them: to 16 bits with round
 * to nearest, ties to even; back exactly. Codes are the 16 stored bits as an unsigned integer.
 */

import { refuseNumber, requireArray } from "./typed-arrays";

const scratch = new Float32Array(1);
const scratchBits = new Uint32Array(scratch.buffer);

const signMask = 0x8000_0000;
const magnitudeMask = 0x7fff_ffff;
const float32Infinity = 0x7f80_0000;
/** 2^-14, the smallest normal binary16 value, as float32 bits. */
const smallestNormalHalf = 0x3880_0000;
/** 2^-25, half of the smallest binary16 value, as float32 bits. */
const halfOfSmallestHalf = 0x3300_0000;
/** 65536 = 2^16, above every binary16 value, as float32 bits. */
const aboveHalfRange = 0x4780_0000;

function bitsOf(value: number): number {
  scratch[0] = value;
  return scratchBits[0]!;
}

function floatOf(bits: number): number {
  scratchBits[0] = bits;
  return scratch[0]!;
}

function float32BitsToFloat16(bits: number): number {
  const sign = (bits >>> 16) & 0x8000;
  const magnitude = bits & magnitudeMask;
  if (magnitude >= aboveHalfRange) {
    // A NaN stays a NaN, made quiet, with the upper bits of its payload, as the x86 instruction does it.
    return magnitude > float32Infinity ? sign | 0x7e00 | ((magnitude >>> 13) & 0x3ff) : sign | 0x7c00;
  }
  if (magnitude >= smallestNormalHalf) {
    // Rebias the exponent from 127 to 15; the carry of the rounding goes into the exponent, and from there to infinity.
    return sign | ((magnitude - 0x3800_0000 + 0xfff + ((magnitude >>> 13) & 1)) >>> 13);
  }
  if (magnitude <= halfOfSmallestHalf) return sign;
  const mantissa = (magnitude & 0x7f_ffff) | 0x80_0000;
  const shift = 126 - (magnitude >>> 23);
  const kept = mantissa >>> shift;
  const lost = mantissa & ((1 << shift) - 1);
  const tie = 1 << (shift - 1);
  return sign | (lost > tie || (lost === tie && (kept & 1) === 1) ? kept + 1 : kept);
}

function float16ToFloat32Bits(code: number): number {
  const sign = (code & 0x8000) << 16;
  const magnitude = code & 0x7fff;
  if (magnitude >= 0x7c00) return (sign | float32Infinity | ((magnitude & 0x3ff) << 13)) >>> 0;
  if (magnitude >= 0x400) return (sign | ((magnitude << 13) + 0x3800_0000)) >>> 0;
  if (magnitude === 0) return sign >>> 0;
  // A subnormal m·2^-24: move its highest bit to where float32 implies it.
  const shift = Math.clz32(magnitude) - 8;
  return (sign | ((((magnitude << shift) & 0x7f_ffff) | ((126 - shift) << 23)) >>> 0)) >>> 0;
}

function float32BitsToBfloat16(bits: number): number {
  if ((bits & magnitudeMask) > float32Infinity) return 0x7fc0;
  return ((bits >>> 16) + (((bits & 0xffff) + 0x7fff + ((bits >>> 16) & 1)) >>> 16)) & 0xffff;
}

/** The binary16 code of the float32 nearest to `value`; beyond ±65520 it is infinity. */
export function float32ToFloat16(value: number): number {
  if (typeof value !== "number") refuseNumber("float32ToFloat16", value);
  return float32BitsToFloat16(bitsOf(value));
}

/** The value of a binary16 code in 0…65535. */
export function float16ToFloat32(code: number): number {
  if (typeof code !== "number") refuseNumber("float16ToFloat32", code);
  return floatOf(float16ToFloat32Bits(code));
}

/** The bfloat16 code of the float32 nearest to `value`; every NaN becomes 0x7fc0, as in torch. */
export function float32ToBfloat16(value: number): number {
  if (typeof value !== "number") refuseNumber("float32ToBfloat16", value);
  return float32BitsToBfloat16(bitsOf(value));
}

/** The value of a bfloat16 code in 0…65535. */
export function bfloat16ToFloat32(code: number): number {
  if (typeof code !== "number") refuseNumber("bfloat16ToFloat32", code);
  return floatOf((code << 16) >>> 0);
}

/** `value` rounded to float32 and then to binary16. */
export function roundToFloat16(value: number): number {
  if (typeof value !== "number") refuseNumber("roundToFloat16", value);
  return float16ToFloat32(float32ToFloat16(value));
}

/** `value` rounded to float32 and then to bfloat16. */
export function roundToBfloat16(value: number): number {
  if (typeof value !== "number") refuseNumber("roundToBfloat16", value);
  return bfloat16ToFloat32(float32ToBfloat16(value));
}

function bitsView(values: Float32Array): Uint32Array {
  return new Uint32Array(values.buffer, values.byteOffset, values.length);
}

/**
 * The binary16 codes [n] of float32 values [n].
 *
 * @throws VdError `dtype` for another array
 */
export function toFloat16Array(values: Float32Array): Uint16Array {
  requireArray("toFloat16Array", values, "Float32Array");
  const bits = bitsView(values);
  const codes = new Uint16Array(bits.length);
  for (let i = 0; i < bits.length; i++) codes[i] = float32BitsToFloat16(bits[i]!);
  return codes;
}

/**
 * The float32 values [n] of binary16 codes [n].
 *
 * @throws VdError `dtype` for another array
 */
export function fromFloat16Array(codes: Uint16Array): Float32Array {
  requireArray("fromFloat16Array", codes, "Uint16Array");
  const values = new Float32Array(codes.length);
  const bits = bitsView(values);
  for (let i = 0; i < codes.length; i++) bits[i] = float16ToFloat32Bits(codes[i]!);
  return values;
}

/**
 * The bfloat16 codes [n] of float32 values [n].
 *
 * @throws VdError `dtype` for another array
 */
export function toBfloat16Array(values: Float32Array): Uint16Array {
  requireArray("toBfloat16Array", values, "Float32Array");
  const bits = bitsView(values);
  const codes = new Uint16Array(bits.length);
  for (let i = 0; i < bits.length; i++) codes[i] = float32BitsToBfloat16(bits[i]!);
  return codes;
}

/**
 * The float32 values [n] of bfloat16 codes [n].
 *
 * @throws VdError `dtype` for another array
 */
export function fromBfloat16Array(codes: Uint16Array): Float32Array {
  requireArray("fromBfloat16Array", codes, "Uint16Array");
  const values = new Float32Array(codes.length);
  const bits = bitsView(values);
  for (let i = 0; i < codes.length; i++) bits[i] = codes[i]! << 16;
  return values;
}

/**
 * Rounds every value [n] to binary16, in place: what a round trip through {@link toFloat16Array} would give.
 *
 * @throws VdError `dtype` for another array
 */
export function roundToFloat16InPlace(values: Float32Array): void {
  requireArray("roundToFloat16InPlace", values, "Float32Array");
  const bits = bitsView(values);
  for (let i = 0; i < bits.length; i++) {
    const magnitude = bits[i]! & magnitudeMask;
    if (magnitude >= smallestNormalHalf && magnitude < 0x477f_f000) {
      // Normal in binary16 and not rounding to infinity: 13 of the 23 mantissa bits go.
      bits[i] = (bits[i]! & signMask) | ((magnitude + 0xfff + ((magnitude >>> 13) & 1)) & ~0x1fff);
    } else {
      bits[i] = float16ToFloat32Bits(float32BitsToFloat16(bits[i]!));
    }
  }
}

/**
 * Rounds every value [n] to bfloat16, in place.
 *
 * @throws VdError `dtype` for another array
 */
export function roundToBfloat16InPlace(values: Float32Array): void {
  requireArray("roundToBfloat16InPlace", values, "Float32Array");
  const bits = bitsView(values);
  for (let i = 0; i < bits.length; i++) bits[i] = float32BitsToBfloat16(bits[i]!) << 16;
}
