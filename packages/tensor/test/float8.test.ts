import { expect, test } from "vitest";
import { FLOAT8_E4M3_MAX, FLOAT8_E4M3_VALUES, float32ToFloat8, fromFloat8Array, toFloat8Array } from "../src/index";

const codes = Uint8Array.from({ length: 256 }, (_, code) => code);

test("every code but NaN comes back from its number", () => {
  const numbers = codes.filter((code) => (code & 0x7f) !== 0x7f);
  expect(toFloat8Array(fromFloat8Array(numbers))).toEqual(numbers);
  expect([float32ToFloat8(Number.NaN), FLOAT8_E4M3_VALUES[0x7f]]).toEqual([0x7f, Number.NaN]);
});

test("what lies between two codes goes to the nearer one, halves to the even one", () => {
  for (let code = 0; code < 0x7e; code++) {
    const [low, high] = [FLOAT8_E4M3_VALUES[code]!, FLOAT8_E4M3_VALUES[code + 1]!];
    const middle = (low + high) / 2;
    const even = code % 2 === 0 ? code : code + 1;
    const below = Math.fround(middle - (high - low) * 2 ** -12);
    const above = Math.fround(middle + (high - low) * 2 ** -12);
    expect([middle, below, above].map(float32ToFloat8)).toEqual([even, code, code + 1]);
    expect([-middle, -below, -above].map(float32ToFloat8)).toEqual([even | 0x80, code | 0x80, (code + 1) | 0x80]);
  }
});

test("numbers beyond the range become the largest", () => {
  const wide = [FLOAT8_E4M3_MAX, 449, 464, 480, 1e30, Number.POSITIVE_INFINITY];
  expect(wide.map(float32ToFloat8)).toEqual(wide.map(() => 0x7e));
  expect(wide.map((value) => float32ToFloat8(-value))).toEqual(wide.map(() => 0xfe));
});
