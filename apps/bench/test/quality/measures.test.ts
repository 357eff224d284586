import { describe, expect, it } from "vitest";
import { psnr, relativeDistance, ssim } from "../../src/quality/measures";

const [width, height, numFrames] = [12, 9, 2];
const video = (value: (i: number) => number) => ({
  ...{ width, height, numFrames },
  data: Uint8Array.from({ length: width * height * numFrames * 3 }, (_, i) => value(i)),
});
const waves = video((i) => 128 + 100 * Math.sin(i / 3));

describe("measures", () => {
  it("of the same video are the best there are", () => {
    expect(psnr(waves.data, waves.data)).toBe(Number.POSITIVE_INFINITY);
    expect(ssim(waves, waves)).toBeCloseTo(1, 12);
    expect(relativeDistance(Float32Array.of(3, 4), Float32Array.of(3, 4))).toBe(0);
  });

  it("are what their formulas say", () => {
    // All values off by 10: 10·log10(255²/100).
    const brighter = video((i) => waves.data[i]! + 10);
    expect(psnr(brighter.data, waves.data)).toBeCloseTo(10 * Math.log10(65025 / 100), 10);
    // Flat pictures have no variance: (2·a·b + C1) / (a² + b² + C1).
    const [a, b, c1] = [100, 120, (0.01 * 255) ** 2];
    expect(
      ssim(
        video(() => a),
        video(() => b),
      ),
    ).toBeCloseTo((2 * a * b + c1) / (a * a + b * b + c1), 10);
    expect(relativeDistance(Float32Array.of(3, 5), Float32Array.of(3, 4))).toBeCloseTo(1 / 5, 7);
  });

  it("fall with the difference; one of structure counts more than one of brightness", () => {
    const brighter = video((i) => waves.data[i]! + 10);
    const noisy = video((i) => waves.data[i]! + (Math.floor(i / 3) % 2 === 0 ? 10 : -10));
    expect(ssim(brighter, waves)).toBeGreaterThan(ssim(noisy, waves));
    expect(ssim(noisy, waves)).toBeLessThan(1);
    expect(psnr(noisy.data, waves.data)).toBeCloseTo(psnr(brighter.data, waves.data), 10);
  });
});
