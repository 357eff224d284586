import { beforeAll, describe, expect, it } from "vitest";
import { maxDifference } from "../../../../tooling/testing/pictures";
import type { StableVideoDiffusionPipeline } from "../../src/index";
import { sameBytes } from "../support/measures";
import { openTiny, QUICK } from "../support/tiny-model";

/** The model's own number of frames, so that 3 and 5 leave a rest. */
const OPTIONS = { ...QUICK, numFrames: 14, steps: 1, maxGuidance: 1 };

let pipeline: StableVideoDiffusionPipeline;
let whole: { data: Uint8Array; floats: Float32Array; peakBytes: number };
const decoded = async (decodeChunk?: number, isolateDecodeChunks = false) => {
  const video = await pipeline.generate({ ...OPTIONS, decodeChunk, isolateDecodeChunks });
  return { data: video.data, floats: video.floats(), peakBytes: video.peakBytes };
};
beforeAll(async () => {
  pipeline = await openTiny();
  whole = await decoded();
});

describe("decoding in chunks", () => {
  it.each([1, 3, 5, 13])("of %i gives the whole decode", async (chunk) => {
    const parts = await decoded(chunk);
    expect(maxDifference(parts.floats, whole.floats)).toBeLessThan(1e-5);
    expect(maxDifference(parts.data, whole.data)).toBeLessThanOrEqual(1);
  });

  it.each([14, 4096])("of %i, all frames or more, is the whole decode", async (chunk) => {
    expect(sameBytes((await decoded(chunk)).data, whole.data)).toBe(true);
  });

  it("takes less memory, down to two feature maps of the whole clip", async () => {
    const peaks = await Promise.all(
      [14, 3, 1].map(async (decodeChunk) => {
        const plan = await pipeline.plan({ ...OPTIONS, width: 128, height: 128, decodeChunk });
        return plan.stages.find(({ name }) => name === "decode")!.peakBytes;
      }),
    );
    expect(peaks[1]).toBeLessThan(peaks[0]!);
    expect(peaks[2]).toBeLessThan(peaks[1]!);
  });

  it("on their own differs at the borders, and nowhere else", async () => {
    const isolated = await decoded(7, true);
    expect(sameBytes(isolated.data, whole.data)).toBe(false);
    expect(maxDifference(isolated.data, whole.data)).toBeGreaterThan(1);
    expect(sameBytes((await decoded(14, true)).data, whole.data)).toBe(true);
    expect(sameBytes((await decoded(undefined, true)).data, whole.data)).toBe(true);
  });
});
