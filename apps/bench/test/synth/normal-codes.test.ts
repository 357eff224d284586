import { fromFloat16Array } from "@vd/tensor";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { fillFromTable, inverseNormal, normalCodes } from "../../src/synth/normal-codes";

const fill = (length: number, label: string, table: Uint16Array) => {
  const codes = new Uint16Array(length);
  fillFromTable(codes, table, label);
  return codes;
};

describe("inverseNormal", () => {
  it("inverts the normal distribution", () => {
    // Source: https://oeis.org/A121194 and tables of the standard normal distribution.
    expect(inverseNormal(0.975)).toBeCloseTo(1.959963984540054, 7);
    expect(inverseNormal(0.5)).toBeCloseTo(0, 12);
    expect(inverseNormal(0.001)).toBeCloseTo(-3.090232306167814, 7);
    expect(inverseNormal(0.01)).toBeCloseTo(-inverseNormal(0.99), 9);
  });
});

describe("fillFromTable", () => {
  const table = normalCodes(1, 0.1);

  it("gives numbers of the mean and deviation, without patterns between neighbours or labels", () => {
    const values = fromFloat16Array(fill(200_000, "a", table));
    const others = fromFloat16Array(fill(200_000, "b", table));
    const mean = values.reduce((sum, v) => sum + v, 0) / values.length;
    const moment = (f: (v: number, i: number) => number) =>
      values.reduce((sum, v, i) => sum + f(v - 1, i), 0) / values.length / 0.01;
    expect(mean).toBeCloseTo(1, 2);
    expect(moment((v) => v * v)).toBeCloseTo(1, 1);
    expect(Math.abs(moment((v, i) => v * ((values[i + 1] ?? 1) - 1)))).toBeLessThan(0.01);
    expect(Math.abs(moment((v, i) => v * (others[i]! - 1)))).toBeLessThan(0.01);
  });

  it("depends on the label alone, and a shorter tensor begins like a longer one", () => {
    fc.assert(
      fc.property(fc.string(), fc.integer({ min: 1, max: 99 }), (label, length) => {
        const codes = fill(length, label, table);
        expect(codes).toEqual(fill(100, label, table).subarray(0, length));
        expect(fill(100, `${label}x`, table)).not.toEqual(fill(100, label, table));
      }),
      { numRuns: 50 },
    );
  });
});
