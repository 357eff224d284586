import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { guidanceScales, linearGuidance, triangleGuidance } from "../src/guidance";

describe("guidance", () => {
  it("is torch.linspace for the linear shape", () => {
    expect(Array.from(linearGuidance(1, 2.5, 6))).toEqual([
      1, 1.2999999523162842, 1.600000023841858, 1.899999976158142, 2.200000047683716, 2.5,
    ]);
    expect(Array.from(linearGuidance(1, 3, 14, "float16")).slice(0, 3)).toEqual([1, 1.154296875, 1.3076171875]);
    expect(Array.from(linearGuidance(1, 3, 1))).toEqual([1]);
  });

  it("is ComfyUI's wave for the triangle", () => {
    expect(Array.from(triangleGuidance(1, 3, 5))).toEqual([1, 2, 3, 2, 1]);
    expect(Array.from(triangleGuidance(1, 3, 14))).toEqual([
      1, 1.307692289352417, 1.615384578704834, 1.9230769872665405, 2.230769157409668, 2.538461685180664,
      2.846153974533081, 2.846153974533081, 2.538461685180664, 2.230769157409668, 1.923076868057251, 1.615384578704834,
      1.307692289352417, 1,
    ]);
  });

  it("stays between its ends for any number of frames", () => {
    const scale = fc.float({ min: 0, max: 20, noNaN: true });
    const shape = fc.constantFrom("linear" as const, "triangle" as const);
    fc.assert(
      fc.property(shape, scale, scale, fc.integer({ min: 1, max: 64 }), (kind, min, max, numFrames) => {
        const scales = guidanceScales(kind, min, max, numFrames);
        expect(scales).toHaveLength(numFrames);
        expect(scales[0]).toBe(min);
        for (const value of scales) {
          expect(value).toBeGreaterThanOrEqual(Math.min(min, max) - 1e-5);
          expect(value).toBeLessThanOrEqual(Math.max(min, max) + 1e-5);
        }
      }),
      { seed: 9, numRuns: 300 },
    );
  });

  it("refuses a number of frames that is none", () => {
    expect(() => linearGuidance(1, 3, 0)).toThrow("[numFrames] expected a whole number from 1, got 0");
    expect(() => triangleGuidance(1, 3, 2.5)).toThrow("numFrames");
  });
});
