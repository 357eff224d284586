import { describe, expect, test } from "vitest";
import { distance, tooFar, unlikeBits } from "../src/compare";

describe("distance", () => {
  test("is relative to the size of the right numbers", () => {
    const { nmse, worst } = distance([3, 4.1], [3, 4]);
    expect(nmse).toBeCloseTo(0.01 / 25, 12);
    expect(worst).toBeCloseTo(0.1 / Math.sqrt(12.5), 12);
    expect(distance([0, 0], [0, 0])).toEqual({ nmse: 0, worst: 0 });
  });

  test.each([
    ["a NaN", [1, Number.NaN], [1, 2]],
    ["an infinity", [1, Number.POSITIVE_INFINITY], [1, 2]],
    ["an infinity of the other sign", [Number.NEGATIVE_INFINITY], [Number.POSITIVE_INFINITY]],
    ["a number where NaN is right", [1, 2], [Number.NaN, 2]],
    ["nothing but NaN", [Number.NaN, Number.NaN], [Number.NaN, Number.NaN]],
    ["a missing number", [1], [1, 2]],
    ["anything where zeros are right", [1e-30], [0]],
  ])("%s is infinitely far", (_, got, wanted) => {
    expect(distance(got, wanted)).toEqual({ nmse: Number.POSITIVE_INFINITY, worst: Number.POSITIVE_INFINITY });
  });

  test("the same infinities and NaN in the same places are right", () => {
    expect(distance([Number.NEGATIVE_INFINITY, 2], [Number.NEGATIVE_INFINITY, 2])).toEqual({ nmse: 0, worst: 0 });
    expect(distance([Number.NaN, 2], [Number.NaN, 2])).toEqual({ nmse: 0, worst: 0 });
  });
});

test("what is too far is said in numbers", () => {
  const limit = { nmse: 1e-6, worst: 1e-2 };
  expect(tooFar([1, 2.0001], [1, 2], limit)).toBe("");
  expect(tooFar([1, 2.1], [1, 2], limit)).toBe("nmse 2.00e-3 above 0.000001, worst 6.32e-2 above 0.01");
});

test("kernels that take each other's place give the same bits, others may differ", () => {
  const results = (entries: Record<string, string>) =>
    new Map(Object.entries(entries).map(([name, text]) => [name, Buffer.from(text)]));
  expect(unlikeBits(results({ f32_add: "x", f32_compiled: "y", f32_program: "y" }))).toEqual([]);
  expect(unlikeBits(results({ f32_compiled: "y", f16_program: "z" }))).toEqual([]);
  expect(unlikeBits(results({ f32_program: "x", f32_compiled: "y" }))).toEqual([
    "f32_compiled gives other bits than f32_program",
  ]);
  expect(unlikeBits(results({ norm_f16_f32_ready_l8c5: "x", norm_f16_l8c5: "x", norm_f16_l16c5: "y" }))).toEqual([]);
  expect(unlikeBits(results({ norm_f16_f32_ready_l8c5: "x", norm_f16_l8c5: "y" }))).toEqual([
    "norm_f16_f32_ready_l8c5 gives other bits than norm_f16_l8c5",
  ]);
});
