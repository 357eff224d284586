import fc from "fast-check";
import { describe, expect, it } from "vitest";
import {
  bfloat16ToFloat32,
  float16ToFloat32,
  float32ToBfloat16,
  float32ToFloat16,
  fromBfloat16Array,
  fromFloat16Array,
  roundToBfloat16InPlace,
  roundToFloat16,
  roundToFloat16InPlace,
  toBfloat16Array,
  toFloat16Array,
} from "../src/half";

const run = { seed: 7, numRuns: 20_000 };

/** The value of a binary16 code by its definition. */
function float16ByDefinition(code: number): number {
  const sign = code & 0x8000 ? -1 : 1;
  const exponent = (code >> 10) & 31;
  const mantissa = code & 1023;
  if (exponent === 31) return mantissa === 0 ? sign * Number.POSITIVE_INFINITY : Number.NaN;
  return exponent === 0 ? sign * mantissa * 2 ** -24 : sign * (1 + mantissa / 1024) * 2 ** (exponent - 15);
}

/** Round to nearest even by trying both neighbours, from a sorted list of the finite non-negative values. */
function nearestEven(value: number, sorted: readonly number[], overflowAt: number): number {
  const magnitude = Math.abs(value);
  if (magnitude >= overflowAt) return Math.sign(value) * Number.POSITIVE_INFINITY;
  let low = 0;
  let high = sorted.length - 1;
  while (high - low > 1) {
    const middle = (low + high) >> 1;
    if (sorted[middle]! <= magnitude) low = middle;
    else high = middle;
  }
  const below = magnitude - sorted[low]!;
  const above = sorted[high]! - magnitude;
  const nearest = below < above || (below === above && low % 2 === 0) ? low : high;
  return Math.sign(value) * sorted[nearest]!;
}

const finiteHalves = Array.from({ length: 0x7c00 }, (_, code) => float16ByDefinition(code));
const allCodes = Uint16Array.from({ length: 65_536 }, (_, code) => code);

describe("binary16", () => {
  it("decodes every code as defined", () => {
    const decoded = fromFloat16Array(allCodes);
    const isRight = (code: number) =>
      Object.is(decoded[code], float16ByDefinition(code)) && Object.is(float16ToFloat32(code), decoded[code]);
    expect(allCodes.filter((code) => !isRight(code))).toEqual(new Uint16Array());
  });

  it("gives every code back, NaN payloads included once they are quiet", () => {
    const again = toFloat16Array(fromFloat16Array(allCodes));
    const isNaNCode = (code: number) => (code & 0x7fff) > 0x7c00;
    expect(again).toEqual(allCodes.map((code) => (isNaNCode(code) ? code | 0x200 : code)));
  });

  it("rounds to the nearest, ties to even", () => {
    const nearValues = fc.oneof(
      fc.float({ noNaN: true }),
      fc.float({ min: Math.fround(-1e-4), max: Math.fround(1e-4), noNaN: true }),
      // Midpoints of neighbours are the ties.
      fc.nat(0x7bfe).map((code) => (finiteHalves[code]! + finiteHalves[code + 1]!) / 2),
    );
    fc.assert(
      // A property that returns false fails with the number; expect takes longer than what it looks at.
      fc.property(nearValues, (value) => roundToFloat16(value) === nearestEven(value, finiteHalves, 65_520)),
      run,
    );
  });

  it("rounds at the edges", () => {
    expect(float32ToFloat16(65_519.996)).toBe(0x7bff);
    expect(float32ToFloat16(65_520)).toBe(0x7c00);
    expect(float32ToFloat16(-1e30)).toBe(0xfc00);
    expect(float32ToFloat16(2 ** -25)).toBe(0);
    expect(float32ToFloat16(2 ** -25 * 1.0001)).toBe(1);
    expect(float32ToFloat16(-0)).toBe(0x8000);
    expect(float32ToFloat16(0.02)).toBe(0x251f);
    expect(float16ToFloat32(0x251f)).toBeCloseTo(0.02000427, 8);
  });

  it("rounds in place as through the codes", () => {
    fc.assert(
      fc.property(fc.float32Array({ maxLength: 40 }), (values) => {
        const expected = fromFloat16Array(toFloat16Array(values));
        roundToFloat16InPlace(values);
        expect(values).toEqual(expected);
      }),
      { seed: 7, numRuns: 2_000 },
    );
  });
});

describe("bfloat16", () => {
  it("gives every code back", () => {
    const values = fromBfloat16Array(allCodes);
    const again = toBfloat16Array(values);
    const isNaNCode = (code: number) => (code & 0x7fff) > 0x7f80;
    expect(again).toEqual(allCodes.map((code) => (isNaNCode(code) ? 0x7fc0 : code)));
    expect(allCodes.filter((code) => !Object.is(bfloat16ToFloat32(code), values[code]))).toEqual(new Uint16Array());
  });

  it("rounds to the nearest, ties to even", () => {
    expect(float32ToBfloat16(1)).toBe(0x3f80);
    expect(float32ToBfloat16(1 + 2 ** -8)).toBe(0x3f80);
    expect(float32ToBfloat16(1 + 3 * 2 ** -8)).toBe(0x3f82);
    expect(float32ToBfloat16(1 + 2 ** -8 + 2 ** -20)).toBe(0x3f81);
    expect(float32ToBfloat16(3.4e38)).toBe(0x7f80);
    fc.assert(
      fc.property(fc.float({ noNaN: true, noDefaultInfinity: true }), (value) => {
        const rounded = bfloat16ToFloat32(float32ToBfloat16(value));
        // Half a unit in the last place of 8 bits; subnormals lie 2^-133 apart.
        const halfUnit = Math.max(Math.abs(value) * 2 ** -8, 2 ** -134);
        const inPlace = Float32Array.of(value);
        roundToBfloat16InPlace(inPlace);
        const isNear = !Number.isFinite(rounded) || Math.abs(rounded - value) <= halfUnit;
        return isNear && Object.is(inPlace[0], rounded);
      }),
      run,
    );
  });
});
