import * as fc from "fast-check";
import { expect, test } from "vitest";
import { blurredRuns, cubicTaps, gaussianKernel } from "../../src/index";

const mirrored = (i: number, size: number) => (i < 0 ? -i : i >= size ? 2 * (size - 1) - i : i);

/** Blurs a line whole, then resizes it: what one step with runs has to give. */
function blurredThenResized(line: readonly number[], size: number): number[] {
  const kernel = gaussianKernel(line.length, size);
  const blurred = line.map((_, at) =>
    kernel.reduce((sum, weight, k) => sum + weight * line[mirrored(at + k - (kernel.length >> 1), line.length)]!, 0),
  );
  const { indices, weights } = cubicTaps(line.length, size);
  return Array.from({ length: size }, (_, i) =>
    [0, 1, 2, 3].reduce((sum, tap) => sum + weights[4 * i + tap]! * blurred[indices[4 * i + tap]!]!, 0),
  );
}

test("one step gives what a blur and a resize give, for any sizes", () => {
  const lines = fc.array(fc.integer({ min: -100, max: 100 }), { minLength: 2, maxLength: 60 });
  const property = fc.property(lines, fc.integer({ min: 1, max: 70 }), (line, size) => {
    const { first, length, weights } = blurredRuns(
      gaussianKernel(line.length, size),
      cubicTaps(line.length, size),
      line.length,
    );
    const resampled = Array.from(first, (at, i) => {
      expect(at).toBeGreaterThanOrEqual(0);
      expect(at + length).toBeLessThanOrEqual(line.length);
      return line.slice(at, at + length).reduce((sum, value, k) => sum + value * weights[i * length + k]!, 0);
    });
    for (const [i, value] of blurredThenResized(line, size).entries()) expect(resampled[i]).toBeCloseTo(value, 9);
  });
  fc.assert(property, { seed: 7, numRuns: 200 });
});

test("runs are as short as their weights allow", () => {
  const { length } = blurredRuns(gaussianKernel(1024, 224), cubicTaps(1024, 224), 1024);
  expect(length).toBe(7 + 3);
  // A resize to the same size is the blur alone.
  expect(blurredRuns(gaussianKernel(100, 30), cubicTaps(100, 100), 100).length).toBe(gaussianKernel(100, 30).length);
});

test("refuses a blur that reaches beyond the reflection", () => {
  expect(() => blurredRuns(new Float32Array(7), cubicTaps(3, 2), 3)).toThrow("a kernel of at most 5 weights, got 7");
});
