import { expect, test } from "vitest";
import { Graph, layerNormScale, normScale, type Tensor } from "../../src/index";

const numberOf = (scale: Tensor) => {
  const bytes = scale.storage.place!.buffer.readSync(new Uint8Array(4));
  return new Float32Array(bytes.buffer)[0]!;
};

function normOf(factors: readonly number[], shifts: readonly number[]): [Tensor, Tensor] {
  const g = new Graph();
  return [
    g.constant(Float32Array.from(factors), [factors.length]),
    g.constant(Float32Array.from(shifts), [shifts.length]),
  ];
}

test("no number that a LayerNorm leaves is beyond its codes: of C it is √C deviations at most", () => {
  const factors = Array.from({ length: 16 }, (_, c) => (c === 5 ? -3 : 1));
  const shifts = factors.map((_, c) => (c === 5 ? 0.5 : c === 9 ? -2 : 0));
  // What one number is that is apart from fifteen that are alike.
  const apart = Math.sqrt(15);
  const scale = layerNormScale(...normOf(factors, shifts));
  expect(scale.dims).toEqual([1, 1, 1, 1]);
  expect(numberOf(scale)).toBe(Math.fround((3 * 4 + 0.5) / 448));
  expect((3 * apart + 0.5) / numberOf(scale)).toBeLessThan(448);
});

test("a norm over many numbers has room for 24 deviations", () => {
  const [weight, bias] = normOf([0.5, -2], [7, 1]);
  expect(numberOf(normScale(weight, bias))).toBe(Math.fround((2 * 24 + 1) / 448));
});
