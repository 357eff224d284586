import fc from "fast-check";
import { beforeAll, describe, expect, it } from "vitest";
import type { StableVideoDiffusionPipeline } from "../../src/index";
import type { GenerateOptions } from "../../src/types";
import { deviation } from "../support/measures";
import { openTiny, PICTURE } from "../support/tiny-model";

/** `VD_LONG=1 pnpm vitest run shapes` draws many more. */
const RUNS = process.env.VD_LONG === "1" ? 200 : 9;

let pipeline: StableVideoDiffusionPipeline;
beforeAll(async () => {
  pipeline = await openTiny();
});

/** Sides and frames whose product stays small enough for a fraction of a second. */
const shapes = fc
  .record({
    width: fc.integer({ min: 1, max: 16 }).map((eighths) => 8 * eighths),
    height: fc.integer({ min: 1, max: 16 }).map((eighths) => 8 * eighths),
    numFrames: fc.integer({ min: 1, max: 20 }),
  })
  .filter(({ width, height, numFrames }) => width * height * numFrames <= 24_000);

const options: fc.Arbitrary<GenerateOptions> = fc
  .record({
    shape: shapes,
    steps: fc.integer({ min: 1, max: 3 }),
    maxGuidance: fc.constantFrom(1, 2.5),
    guidance: fc.constantFrom("linear" as const, "triangle" as const),
    decodeChunk: fc.option(fc.integer({ min: 1, max: 20 }), { nil: undefined }),
    isolateDecodeChunks: fc.boolean(),
    noiseAugStrength: fc.constantFrom(0, 0.02, 1),
    motionBucketId: fc.integer({ min: 0, max: 255 }),
    fps: fc.integer({ min: 1, max: 60 }),
    seed: fc.bigInt({ min: 0n, max: 2n ** 64n - 1n }),
  })
  .map(({ shape, ...rest }) => ({ image: PICTURE, ...shape, ...rest }));

async function check(wanted: GenerateOptions): Promise<void> {
  const video = await pipeline.generate(wanted);
  const { width, height, numFrames, data } = video;
  expect({ width, height, numFrames }).toEqual({
    width: wanted.width,
    height: wanted.height,
    numFrames: wanted.numFrames,
  });
  expect(data).toHaveLength(numFrames * height * width * 3);
  const floats = video.floats();
  expect(floats).toHaveLength(data.length);
  // NaN fails both comparisons.
  expect(floats.every((value) => value >= 0 && value <= 1)).toBe(true);
  expect(deviation(data)).toBeGreaterThan(0);
}

describe("any valid options", () => {
  it("give a video of exactly the size asked for, in range and without NaN", async () => {
    const examples: [GenerateOptions][] = [
      [{ image: PICTURE, width: 72, height: 40, numFrames: 5, steps: 2, seed: 1 }],
      [{ image: PICTURE, width: 128, height: 64, numFrames: 1, steps: 1, seed: 1 }],
      [{ image: PICTURE, width: 8, height: 8, numFrames: 20, steps: 1, seed: 1 }],
      [{ image: PICTURE, width: 8, height: 120, numFrames: 3, steps: 1, seed: 1, decodeChunk: 2 }],
    ];
    await fc.assert(fc.asyncProperty(options, check), { seed: 20240611, numRuns: RUNS, examples, endOnFailure: true });
  });
});
