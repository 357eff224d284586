import { beforeAll, describe, expect, it } from "vitest";
import { failureOf } from "../../../../tooling/testing/failure";
import type { StableVideoDiffusionPipeline } from "../../src/index";
import type { ProgressEvent } from "../../src/types";
import { sameBytes } from "../support/measures";
import { openTiny, QUICK } from "../support/tiny-model";

let pipeline: StableVideoDiffusionPipeline;
let wanted: Uint8Array;
const options = { ...QUICK, steps: 4 };
beforeAll(async () => {
  pipeline = await openTiny();
  wanted = (await pipeline.generate(options)).data;
});

/** Starts a generation and aborts as soon as `when` holds for an event; gives the error and the events. */
async function abortedAt(when: (event: ProgressEvent) => boolean) {
  const controller = new AbortController();
  const events: string[] = [];
  const onProgress = (event: ProgressEvent) => {
    events.push(`${event.stage} ${event.step}/${event.steps}`);
    if (when(event)) controller.abort(new Error("enough"));
  };
  const error = await failureOf(pipeline.generate({ ...options, signal: controller.signal, onProgress }));
  return { error, events };
}

describe("cancelling", () => {
  it.each([
    ["encode 0/2", 1],
    ["encode 1/2", 2],
    ["encode 2/2", 3],
    ["denoise 0/4", 4],
    ["denoise 2/4", 6],
    ["denoise 4/4", 9],
    ["decode 0/1", 9],
    ["decode 1/1", 10],
  ])("at %s rejects before the next step, and the pipeline works again", async (at, numEvents) => {
    const { error, events } = await abortedAt(({ stage, step, steps }) => `${stage} ${step}/${steps}` === at);
    expect(error.code).toBe("cancelled");
    expect(error.message).toMatch(/^\[(generation|run)\] expected to run to its end, got an abort$/);
    expect(error.cause).toMatchObject({ message: "enough" });
    expect(events.slice(0, events.indexOf(at) + 1)).toContain(at);
    expect(events.length).toBeLessThanOrEqual(numEvents);
    expect(sameBytes((await pipeline.generate(options)).data, wanted)).toBe(true);
  });

  it("before it begins rejects without any event", async () => {
    const events: ProgressEvent[] = [];
    const signal = AbortSignal.abort();
    const error = await failureOf(pipeline.generate({ ...options, signal, onProgress: (event) => events.push(event) }));
    expect(error.code).toBe("cancelled");
    expect(events.filter(({ step }) => step > 0)).toEqual([]);
  });

  it("between two events stops a stage in the middle", async () => {
    const big = { ...QUICK, width: 128, height: 128, numFrames: 14, steps: 1, maxGuidance: 1 };
    const controller = new AbortController();
    const seen: string[] = [];
    const onProgress = ({ stage, step }: ProgressEvent) => {
      seen.push(`${stage} ${step}`);
      if (stage === "decode") setTimeout(() => controller.abort(), 50);
    };
    const start = performance.now();
    let stopMs = 0;
    controller.signal.addEventListener("abort", () => {
      stopMs = performance.now();
    });
    const error = await failureOf(pipeline.generate({ ...big, signal: controller.signal, onProgress }));
    const rejectMs = performance.now();
    expect(error.code).toBe("cancelled");
    expect(seen.at(-1)).toBe("decode 0");
    // One convolution of the decoder at most, where the whole decode takes a hundred of them.
    expect(rejectMs - stopMs).toBeLessThan(Math.max(2000, stopMs - start));
  });

  it("a preview's decoding rejects too", async () => {
    const controller = new AbortController();
    const onPreview = () => controller.abort();
    const error = await failureOf(
      pipeline.generate({ ...options, previewEvery: 1, onPreview, signal: controller.signal }),
    );
    expect(error.code).toBe("cancelled");
  });

  it("many times leaves no listener on the signal", async () => {
    const controller = new AbortController();
    let listeners = 0;
    const { signal } = controller;
    const [add, remove] = [signal.addEventListener.bind(signal), signal.removeEventListener.bind(signal)];
    signal.addEventListener = (...args: Parameters<typeof add>) => {
      listeners++;
      add(...args);
    };
    signal.removeEventListener = (...args: Parameters<typeof remove>) => {
      listeners--;
      remove(...args);
    };
    await pipeline.generate({ ...options, signal });
    expect(listeners).toBe(0);
  });

  it("the opening of a model rejects with `cancelled`", async () => {
    const error = await failureOf(openTiny({ signal: AbortSignal.abort() }));
    expect(error.code).toBe("cancelled");
    const controller = new AbortController();
    const late = failureOf(openTiny({ signal: controller.signal, onProgress: () => controller.abort() }));
    expect((await late).code).toBe("cancelled");
    expect((await late).message).toMatch(/tiny-svd\] expected the opening to run to its end, got an abort$/);
  });
});
