import { Device, VdError } from "@vd/kernels-native";
import { afterEach, beforeAll, describe, expect, it, vi } from "vitest";
import { maxDifference } from "../../../../tooling/testing/pictures";
import type { GeneratedVideo, StableVideoDiffusionPipeline } from "../../src/index";
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

describe("decoding in tiles", () => {
  const options = { ...OPTIONS, numFrames: 8, width: 128, height: 128 };
  let atOnce: GeneratedVideo;
  beforeAll(async () => {
    atOnce = await pipeline.generate(options);
  });
  afterEach(() => vi.restoreAllMocks());

  it("is what happens where no chunk fits, and gives the whole decode", async () => {
    const { peakBytes } = (await pipeline.plan(options)).stages.find(({ name }) => name === "decode")!;
    vi.spyOn(process, "constrainedMemory").mockReturnValue(0.5 * peakBytes);
    const { stages } = await pipeline.plan(options);
    expect(stages.map(({ name }) => name)).toContain("decode tiles");
    const tiled = await pipeline.generate(options);
    expect(maxDifference(tiled.floats(), atOnce.floats())).toBeLessThan(1e-5);
    expect(maxDifference(tiled.data, atOnce.data)).toBeLessThanOrEqual(1);
  });

  it("is what follows where the device runs out of memory after all, and is told", async () => {
    const allocate = Device.prototype.allocate;
    const messages: string[] = [];
    vi.spyOn(Device.prototype, "allocate").mockImplementation(function (this: Device, bytes) {
      const error = { code: "memory", where: "allocate", expected: "less", got: String(bytes) } as const;
      return bytes > 50e6 ? Promise.reject(new VdError(error)) : allocate.call(this, bytes);
    });
    const onProgress = ({ message }: { message?: string }) => void (message && messages.push(message));
    const smaller = await pipeline.generate({ ...options, onProgress });
    expect(messages[0]).toMatch(/^The device ran out of memory decoding whole; now/);
    expect(maxDifference(smaller.data, atOnce.data)).toBeLessThanOrEqual(1);
  });
});
