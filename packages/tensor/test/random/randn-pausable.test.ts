import fc from "fast-check";
import { expect, test } from "vitest";
import { CpuGenerator } from "../../src/random/cpu-generator";

function drain<T>(work: Generator<undefined, T, undefined>): { value: T; pauses: number } {
  for (let pauses = 0; ; pauses++) {
    const piece = work.next();
    if (piece.done) return { value: piece.value, pauses };
  }
}

test("normals in pieces are those at once, and so is what follows them", () => {
  fc.assert(
    fc.property(fc.integer({ min: 0, max: 40_000 }), fc.nat(), (count, seed) => {
      const [pieces, atOnce] = [new CpuGenerator(seed), new CpuGenerator(seed)];
      expect(drain(pieces.randnPausable(count)).value).toEqual(atOnce.randn(count));
      expect(pieces.random32()).toBe(atOnce.random32());
    }),
    {
      seed: 5,
      numRuns: 40,
      examples: [
        [15, 1],
        [16, 1],
        [17, 1],
        [8192, 1],
        [8193, 1],
        [16_384 + 7, 1],
      ],
    },
  );
});

test("there is a pause after every few thousand numbers", () => {
  expect(drain(new CpuGenerator(1).randnPausable(100_000)).pauses).toBeGreaterThan(20);
});
