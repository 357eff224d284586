import { beforeAll, describe, expect, it } from "vitest";
import type { StableVideoDiffusionPipeline } from "../../src/index";
import type { GenerateOptions, Preview, ProgressEvent } from "../../src/types";
import { deviation, psnr, sameBytes } from "../support/measures";
import { openTiny, QUICK } from "../support/tiny-model";

let pipeline: StableVideoDiffusionPipeline;
beforeAll(async () => {
  pipeline = await openTiny();
});

async function eventsOf(options: Partial<GenerateOptions>): Promise<ProgressEvent[]> {
  const events: ProgressEvent[] = [];
  await pipeline.generate({ ...QUICK, ...options, onProgress: (event) => events.push(event) });
  return events;
}

const inShort = (events: readonly ProgressEvent[]) =>
  events.map(({ stage, step, steps }) => `${stage} ${step}/${steps}`);

describe("progress", () => {
  it("counts every stage from 0 to its end, in order, with times that never go back", async () => {
    const events = await eventsOf({ steps: 3 });
    expect(inShort(events)).toEqual([
      ...["encode 0/2", "encode 1/2", "encode 2/2"],
      ...["denoise 0/3", "denoise 1/3", "denoise 2/3", "denoise 3/3"],
      ...["decode 0/1", "decode 1/1"],
    ]);
    events.forEach(({ elapsedUs, stage, step, stepUs }, i) => {
      expect(elapsedUs).toBeGreaterThanOrEqual(events[i - 1]?.elapsedUs ?? 0);
      if (stage === "denoise" && step > 0) expect(stepUs).toBeGreaterThan(0);
      else expect(stepUs).toBeUndefined();
    });
  });

  it("counts steps, not calls of the model, for a sampler that calls it twice a step", async () => {
    const events = inShort(await eventsOf({ steps: 3, sampler: "heun" }));
    expect(events.filter((text) => text.startsWith("denoise"))).toEqual([
      "denoise 0/3",
      "denoise 1/3",
      "denoise 2/3",
      "denoise 3/3",
    ]);
  });

  it("counts the clips that are decoded on their own", async () => {
    const chunked = inShort(await eventsOf({ decodeChunk: 2, isolateDecodeChunks: true }));
    expect(chunked.filter((text) => text.startsWith("decode"))).toEqual(["decode 0/2", "decode 1/2", "decode 2/2"]);
    expect(inShort(await eventsOf({ decodeChunk: 2 })).at(-1)).toBe("decode 1/1");
  });

  it("tells of opening a model", async () => {
    const events: ProgressEvent[] = [];
    await openTiny({ onProgress: (event) => events.push(event) });
    expect(inShort(events)).toEqual(["load 0/1", "load 1/1"]);
  });
});

describe("callbacks that fail", () => {
  const failure = new Error("the callback's own");
  const rejectAt = (wanted: string) => async (event: ProgressEvent) => {
    if (`${event.stage} ${event.step}` === wanted) throw failure;
  };

  it.each(["encode 0", "denoise 0", "denoise 2", "decode 1"])(
    "an async onProgress that rejects at %s fails the generation with its error",
    async (wanted) => {
      await expect(pipeline.generate({ ...QUICK, onProgress: rejectAt(wanted) })).rejects.toBe(failure);
    },
  );

  it("so does an async onPreview, and the pipeline goes on working", async () => {
    const onPreview = async () => {
      throw failure;
    };
    await expect(pipeline.generate({ ...QUICK, previewEvery: 1, onPreview })).rejects.toBe(failure);
    expect((await pipeline.generate(QUICK)).numFrames).toBe(QUICK.numFrames);
  });

  it("an async onProgress of opening fails the opening", async () => {
    await expect(openTiny({ onProgress: rejectAt("load 0") })).rejects.toBe(failure);
    await expect(openTiny({ onProgress: rejectAt("load 1") })).rejects.toBe(failure);
  });
});

describe("previews", () => {
  it("show the middle frame after every few steps, nearer and nearer to the result, and change nothing", async () => {
    const previews: Preview[] = [];
    const options = { ...QUICK, steps: 8, width: 72, height: 64, minGuidance: 1, maxGuidance: 1 };
    const video = await pipeline.generate({
      ...options,
      previewEvery: 2,
      onPreview: (preview) => previews.push(preview),
    });
    expect(previews.map(({ step, width, height, numFrames }) => [step, width, height, numFrames])).toEqual([
      [2, 72, 64, 1],
      [4, 72, 64, 1],
      [6, 72, 64, 1],
    ]);
    for (const { frames } of previews) {
      expect(frames).toHaveLength(72 * 64 * 3);
      expect(deviation(frames)).toBeGreaterThan(3);
    }
    const likeness = previews.map(({ frames }) => psnr(frames, video.frame(1)));
    expect(likeness[2]).toBeGreaterThan(likeness[0]!);
    expect(likeness[2]).toBeGreaterThan(20);
    const plain = await pipeline.generate(options);
    expect(sameBytes(plain.data, video.data)).toBe(true);
    expect(video.peakBytes).toBeGreaterThanOrEqual(plain.peakBytes);
  });

  it("come every five steps unless told otherwise, and not after the last", async () => {
    const steps: number[] = [];
    const onPreview = ({ step }: Preview) => steps.push(step);
    await pipeline.generate({ ...QUICK, width: 16, height: 16, numFrames: 1, steps: 10, onPreview });
    expect(steps).toEqual([5]);
  });
});
