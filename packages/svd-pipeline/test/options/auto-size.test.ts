import { describe, expect, it } from "vitest";
import { autoSize } from "../../src/options/auto-size";

const FULL = { width: 1024, height: 576 };

describe("autoSize", () => {
  it.each([
    [1920, 1080, 1024, 576],
    [1080, 1920, 576, 1024],
    [4000, 3000, 896, 640],
    [3000, 4000, 640, 896],
    [500, 500, 768, 768],
    [12_000, 8_000, 960, 640],
  ])("%ix%i becomes %ix%i for published models", (width, height, ...size) => {
    const { width: w, height: h } = autoSize({ width, height }, FULL, 8);
    expect([w, h]).toEqual(size);
  });

  it("takes finer steps for small models", () => {
    expect(autoSize({ width: 300, height: 200 }, { width: 128, height: 128 }, 8)).toEqual({ width: 160, height: 96 });
    expect(autoSize({ width: 128, height: 128 }, { width: 128, height: 128 }, 8)).toEqual({ width: 128, height: 128 });
  });

  it("stays near the shape and the number of pixels", () => {
    for (let shape = 0.4; shape < 2.6; shape += 0.05) {
      const { width, height } = autoSize({ width: Math.round(1000 * shape), height: 1000 }, FULL, 8);
      expect([width % 64, height % 64]).toEqual([0, 0]);
      expect(Math.abs(Math.log(width / height / shape))).toBeLessThan(0.09);
      expect(Math.abs(Math.log((width * height) / (1024 * 576)))).toBeLessThan(0.2);
    }
  });

  it("keeps a side of one step for strips", () => {
    expect(autoSize({ width: 10_000, height: 1 }, FULL, 8).height).toBe(64);
  });
});
