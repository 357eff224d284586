import { describe, expect, it } from "vitest";
import { shiftOfMeans, shiftOfSamples } from "../../src/stats/interval";
import { studentQuantile } from "../../src/stats/student";
import { randomNumbers } from "../support/random";

describe("Student's t", () => {
  // Source: tables of the distribution.
  it.each([
    [0.975, 1, 12.7062],
    [0.995, 2, 9.9248],
    [0.975, 4, 2.7764],
    [0.995, 10, 3.1693],
    [0.9995, 4, 8.6103],
    [0.975, 1000, 1.9623],
    [0.5, 3, 0],
  ])("has the quantile of %d with %i degrees of freedom", (part, freedom, expected) => {
    expect(studentQuantile(part, freedom)).toBeCloseTo(expected, 4);
  });
});

describe("the interval of samples", () => {
  it("is that of Mann and Whitney's table: two places from the ends for 5 beside 5 at 5 %", () => {
    const before = [0, 0.01, 0.02, 0.03, 0.04];
    const after = [1, 1.1, 1.2, 1.3, 1.4];
    const sorted = before.flatMap((x) => after.map((y) => y - x)).sort((a, b) => a - b);
    // P(U ≤ 2) = 4 / 252 and P(U ≤ 3) = 7 / 252, which is above 0.025.
    expect(shiftOfSamples(before, after, 0.05)).toEqual({ estimate: sorted[12], low: sorted[2], high: sorted[22] });
  });

  it("needs samples enough for its error: 2 / 252 for 5 beside 5", () => {
    const five = [1, 2, 3, 4, 5];
    expect(shiftOfSamples(five, five, 2.01 / 252)).toBeDefined();
    expect(shiftOfSamples(five, five, 1.99 / 252)).toBeUndefined();
    expect(shiftOfSamples([], five, 0.5)).toBeUndefined();
  });

  it("holds the true shift as often as is stated, for few samples and for hundreds", () => {
    const random = randomNumbers(7);
    for (const [num, trials] of [
      [8, 2000],
      [400, 40],
    ] as const) {
      let numMissed = 0;
      const draw = (shift: number) => Array.from({ length: num }, () => shift + random.normal() ** 3);
      for (let i = 0; i < trials; i++) {
        const { low, high } = shiftOfSamples(draw(0), draw(0.5), 0.1)!;
        if (low > 0.5 || high < 0.5) numMissed++;
      }
      expect(numMissed).toBeLessThanOrEqual(0.1 * trials + 3 * Math.sqrt(0.09 * trials));
      expect(numMissed).toBeGreaterThan(0);
    }
  });
});

describe("the interval of means", () => {
  it("is Student's with the spread of both sides", () => {
    const { estimate, low, high } = shiftOfMeans([1, 2, 3], [4, 5, 6], 0.05)!;
    expect(estimate).toBe(3);
    // t(0.975, 4) = 2.7764, both variances 1.
    expect(high - estimate).toBeCloseTo(2.7764 * Math.sqrt(2 / 3), 4);
    expect(estimate - low).toBeCloseTo(high - estimate, 12);
  });

  it("needs two degrees of freedom; one run of a side is enough if the other has three", () => {
    expect(shiftOfMeans([1, 2], [3], 0.05)).toBeUndefined();
    expect(shiftOfMeans([1, 2, 3], [3], 0.05)).toBeDefined();
  });
});
