import { beforeAll, describe, expect, it } from "vitest";
import { failureOf } from "../../../../tooling/testing/failure";
import type { StableVideoDiffusionPipeline } from "../../src/index";
import type { GeneratedVideo, GenerationEvent } from "../../src/types";
import { sameBytes } from "../support/measures";
import { openTiny, QUICK } from "../support/tiny-model";

let pipeline: StableVideoDiffusionPipeline;
let wanted: GeneratedVideo;
beforeAll(async () => {
  pipeline = await openTiny();
  wanted = await pipeline.generate(QUICK);
});

async function eventsOf(stream: AsyncIterable<GenerationEvent>): Promise<GenerationEvent[]> {
  const events: GenerationEvent[] = [];
  for await (const event of stream) events.push(event);
  return events;
}

describe("a generation as a stream of events", () => {
  it("tells its progress, its frames and last its video, which is that of generate", async () => {
    const events = await eventsOf(pipeline.stream(QUICK));
    const types = events.map(({ type }) => type);
    expect(new Set(types)).toEqual(new Set(["progress", "frames", "video"]));
    const last = events.at(-1)!;
    expect(last.type === "video" && sameBytes(last.video.data, wanted.data)).toBe(true);
    const stages = events.flatMap((event) => (event.type === "progress" ? [event.stage] : []));
    expect([...new Set(stages)]).toEqual(["encode", "denoise", "decode"]);
  });

  it("gives frames chunk after chunk where chunks are isolated", async () => {
    const events = await eventsOf(pipeline.stream({ ...QUICK, isolateDecodeChunks: true, decodeChunk: 2 }));
    const chunks = events.flatMap((event) => (event.type === "frames" ? [event] : []));
    expect(chunks.map(({ first, numFrames }) => [first, numFrames])).toEqual([
      [0, 2],
      [2, 1],
    ]);
    const video = events.flatMap((event) => (event.type === "video" ? [event.video] : []))[0]!;
    const joined = Buffer.concat(chunks.map(({ frames }) => frames));
    expect(sameBytes(joined, video.data)).toBe(true);
  });

  it("has previews where they are asked for, and calls the caller's own functions too", async () => {
    const steps: number[] = [];
    const events = await eventsOf(
      pipeline.stream({ ...QUICK, previewEvery: 1, onPreview: ({ step }) => void steps.push(step) }),
    );
    const previews = events.flatMap((event) => (event.type === "preview" ? [event.step] : []));
    expect(previews).toEqual([1]);
    expect(steps).toEqual(previews);
  });

  it("cancels the generation when its reader leaves, so that the next one can begin", async () => {
    for await (const event of pipeline.stream({ ...QUICK, steps: 50 })) if (event.type === "progress") break;
    expect(sameBytes((await pipeline.generate(QUICK)).data, wanted.data)).toBe(true);
  });

  it("ends with the error of the generation", async () => {
    expect((await failureOf(eventsOf(pipeline.stream({ ...QUICK, steps: 0 })))).code).toBe("attr");
    const signal = AbortSignal.abort(new Error("enough"));
    expect(await failureOf(eventsOf(pipeline.stream({ ...QUICK, signal })))).toMatchObject({
      name: "AbortError",
      code: "cancelled",
      cause: { message: "enough" },
    });
  });
});
