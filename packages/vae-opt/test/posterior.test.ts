import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { posterior } from "../src/index";

describe("posterior", () => {
  it("splits every pixel's channels into means and log-variances", () => {
    const moments = Float32Array.of(1, 2, 0, Math.log(4), 3, 4, Math.log(9), 0); // [2 pixels, 2·2 channels]
    const { mode, std } = posterior(moments, 2);
    expect([...mode]).toEqual([1, 2, 3, 4]);
    for (const [i, wanted] of [1, 2, 3, 1].entries()) expect(std[i]).toBeCloseTo(wanted, 6);
  });

  it("clamps log-variances to −30 and 20", () => {
    const { std } = posterior(Float32Array.of(0, 0, 0, -1000, 1000, Number.NEGATIVE_INFINITY), 3);
    expect(std[0]).toBeCloseTo(Math.exp(-15), 12);
    expect(std[1]! / Math.exp(10)).toBeCloseTo(1, 6);
    expect(std[2]).toBe(std[0]);
  });

  it("samples mean + deviation · noise in float32", () => {
    const { sample } = posterior(Float32Array.of(0.1, -2, 0, 2 * Math.log(0.3)), 2);
    const [deviation, noise] = [Math.fround(0.3), [1.5, -0.7]];
    const drawn = sample(noise);
    expect(drawn[0]).toBe(Math.fround(Math.fround(0.1) + 1.5));
    expect(drawn[1]).toBeCloseTo(-2 - deviation * 0.7, 6);
    expect(sample(noise)).toEqual(drawn);
  });

  it("gives the mean for noise of 0, and lies around it otherwise", () => {
    const moments = fc.array(fc.float({ min: -5, max: 5, noNaN: true }), { minLength: 8, maxLength: 64 });
    const property = fc.property(moments, fc.integer({ min: 1, max: 4 }), (values, channels) => {
      const whole = Float32Array.from(values.slice(0, values.length - (values.length % (2 * channels))));
      const { mode, std, sample } = posterior(whole, channels);
      expect(mode).toHaveLength(whole.length / 2);
      expect(sample(new Float32Array(mode.length))).toEqual(mode.map((value) => value + 0));
      const above = sample(new Float32Array(mode.length).fill(1));
      expect(above).toEqual(mode.map((value, i) => value + std[i]!));
      expect(std.every((value) => value > 0 && Number.isFinite(value))).toBe(true);
    });
    fc.assert(property, { seed: 20240611, numRuns: 200 });
  });
});
