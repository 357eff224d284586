import { describe, expect, test } from "vitest";
import { foldBatchNorm } from "../../src/weights/fold";
import { failure } from "../support/failure";

const layers = {
  weight: [1, 2, 3, 4, 5, 6],
  bias: [0.5, -1],
  scale: [2, 3],
  shift: [10, 20],
  mean: [1, -2],
  variance: [3, 8],
  eps: 1,
};

describe("foldBatchNorm", () => {
  test("one convolution gives what convolution and batch norm give", () => {
    const { weight, bias } = foldBatchNorm(layers);
    const pixel = [0.25, -3, 7];
    for (const k of [0, 1]) {
      const dot = pixel.reduce((sum, x, i) => sum + x * layers.weight[3 * k + i]!, layers.bias[k]!);
      const normed = (dot - layers.mean[k]!) / Math.sqrt(layers.variance[k]! + layers.eps);
      const folded = pixel.reduce((sum, x, i) => sum + x * weight[3 * k + i]!, bias[k]!);
      expect(folded).toBeCloseTo(normed * layers.scale[k]! + layers.shift[k]!, 5);
    }
  });

  test("rounds once, from float64", () => {
    const { weight, bias } = foldBatchNorm({ ...layers, variance: [0.3, 8], eps: 1e-5 });
    const factor = 2 / Math.sqrt(0.3 + 1e-5);
    expect(weight[0]).toBe(Math.fround(factor));
    expect(bias[0]).toBe(Math.fround((0.5 - 1) * factor + 10));
  });

  test("a convolution without bias counts as one of 0", () => {
    const { bias: none, ...bare } = layers;
    expect(none).toHaveLength(2);
    expect(foldBatchNorm(bare).bias).toEqual(foldBatchNorm({ ...layers, bias: [0, 0] }).bias);
  });

  test("names what does not fit", () => {
    const message = (change: object) => failure(() => foldBatchNorm({ ...layers, ...change })).message;
    expect(message({ mean: [1] })).toBe("[foldBatchNorm] [mean] expected 2 numbers, as many as scale has, got 1");
    expect(message({ bias: [1, 2, 3] })).toContain("[foldBatchNorm] [bias] expected 2 numbers");
    expect(message({ weight: [1, 2, 3] })).toContain("[foldBatchNorm] [weight] expected a multiple of 2 numbers");
    expect(message({ weight: [] })).toContain("got 0");
  });
});
