import { roundToFloat16 } from "@vd/tensor";
import { describe, expect, it } from "vitest";
import { add, cast, clamp, div, mul, sub, type Values, weightedSum } from "../../src/arithmetic/values";

const half = (...data: number[]): Values => ({ data: Float32Array.from(data, roundToFloat16), dtype: "float16" });
const single = (...data: number[]): Values => ({ data: Float32Array.from(data), dtype: "float32" });

describe("values", () => {
  it("round every result to the wider type", () => {
    const sum = add(half(2048), half(1));
    expect(sum.dtype).toBe("float16");
    expect(sum.data[0]).toBe(2048);
    expect(add(half(2048), single(1))).toEqual(single(2049));
    expect(sub(half(2048), single(0.25))).toEqual(single(2047.75));
    expect(div(half(1), 3).data[0]).toBe(roundToFloat16(1 / 3));
  });

  it("round a factor on the left to the type first, one on the right to float32", () => {
    // Between the float16 values 14.609375 and 14.6171875.
    const sigma = 14.613;
    const x = half(1.1, 1.3, 1.5, 1.7, 1.9);
    const left = x.data.map((value) => roundToFloat16(14.609375 * value));
    const right = x.data.map((value) => roundToFloat16(Math.fround(sigma) * value));
    expect(mul(sigma, x).data).toEqual(left);
    expect(mul(x, sigma).data).toEqual(right);
    expect(left).not.toEqual(right);
    expect(mul(sigma, single(1.5))).toEqual(mul(single(1.5), sigma));
  });

  it("clamp, cast and sum", () => {
    expect(Array.from(clamp(single(-3, 0.5, 3, Number.NaN), 1).data)).toEqual([-1, 0.5, 1, Number.NaN]);
    expect(cast(single(0.1), "bfloat16").data[0]).toBe(0.10009765625);
    expect(cast(half(0.1), "float32")).toEqual({ ...half(0.1), dtype: "float32" });
    expect(Array.from(weightedSum([0.5, 2], [single(1, 2), single(3, 4)]).data)).toEqual([6.5, 9]);
    expect(() => weightedSum([], [])).toThrow("weightedSum");
  });

  it("leave what they are given alone", () => {
    const x = half(1, 2, 3);
    const copy = Float32Array.from(x.data);
    mul(2, x);
    cast(x, "bfloat16");
    add(x, x);
    expect(x.data).toEqual(copy);
  });
});
