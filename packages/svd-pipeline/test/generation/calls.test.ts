import { beforeAll, describe, expect, it } from "vitest";
import { failureOf } from "../../../../tooling/testing/failure";
import type { StableVideoDiffusionPipeline } from "../../src/index";
import type { GenerateOptions } from "../../src/types";
import { psnr, sameBytes } from "../support/measures";
import { rememberedRuns } from "../support/remembered-runs";
import { openTiny, QUICK } from "../support/tiny-model";

let pipeline: StableVideoDiffusionPipeline;
const wholeOf = rememberedRuns(() => pipeline);
/** At this size the model gives pictures. */
const OPTIONS = { ...QUICK, width: 64, height: 64, steps: 8 } as const;
let exact: Uint8Array;
beforeAll(async () => {
  pipeline = await openTiny();
  exact = (await generate({})).data;
});

const small = (options: Partial<GenerateOptions>) => pipeline.generate({ ...QUICK, steps: 6, ...options });
/** A video that is made once. */
const generate = (options: Partial<GenerateOptions>) => wholeOf({ ...OPTIONS, ...options });

describe("calls of several kinds", () => {
  it("that are all made in full give the bytes of the exact run", async () => {
    const wide = await generate({ guidanceMaxSigma: 1e5 });
    expect(sameBytes(wide.data, exact)).toBe(true);
    // Nothing is below a threshold this small.
    const measured = await generate({ skipThreshold: 1e-9 });
    expect(sameBytes(measured.data, exact)).toBe(true);
    expect(measured.denoiserCalls).toMatchObject({ full: 8, skipped: 0 });
  });

  it.each<[string, Partial<GenerateOptions>, number, object]>([
    ["without guidance near the end", { guidanceMinSigma: 0.2 }, 40, { full: 6, unguided: 2 }],
    ["with features of the call before", { featureInterval: 2 }, 24, { full: 4, "full, reusing": 4 }],
    ["some of them skipped", { skipThreshold: 0.02 }, 30, {}],
    ["all of it", { guidanceMinSigma: 0.2, featureInterval: 2, skipThreshold: 0.02 }, 22, {}],
  ])("%s: near the exact run, with fewer operations", async (_, options, least, calls) => {
    const video = await generate(options);
    expect(psnr(video.data, exact)).toBeGreaterThan(least);
    expect(sameBytes(video.data, exact)).toBe(false);
    expect(video.denoiserCalls).toMatchObject(calls);
    expect(Object.values(video.denoiserCalls).reduce((sum, n) => sum + n)).toBe(8);
    expect(video.denoiserCalls.full).toBeLessThan(8);
    const [plan, whole] = [await pipeline.plan({ ...OPTIONS, ...options }), await pipeline.plan(OPTIONS)];
    const flops = plan.stages.reduce((sum, stage) => sum + stage.flops * (stage.fewestRuns ?? stage.runs), 0);
    expect(flops).toBeLessThan(whole.flops);
  });

  it.each<[string, Partial<GenerateOptions>]>([
    ["one row of everything", { maxGuidance: 1, featureInterval: 2 }],
    ["noise between the steps", { sampler: "euler_a", featureInterval: 2 }],
    ["noise of a GPU's generator", { sampler: "euler_a", stepNoise: "cuda", featureInterval: 3 }],
    ["history", { sampler: "dpmpp_2m", featureInterval: 2, skipThreshold: 0.02 }],
    ["two calls a step", { sampler: "heun", guidanceMinSigma: 0.2, featureInterval: 2 }],
  ])("with %s give the same bytes twice, others than the exact run", async (_, options) => {
    const small = { ...QUICK, ...options, steps: 4 };
    const [first, second] = [await pipeline.generate(small), await pipeline.generate(small)];
    expect(sameBytes(first.data, second.data)).toBe(true);
    const all = { featureInterval: 1, skipThreshold: 0, guidanceMinSigma: 0 };
    const full = await pipeline.generate({ ...small, ...all });
    expect(sameBytes(first.data, full.data)).toBe(false);
    expect(first.denoiserCalls.full).toBeLessThan(full.denoiserCalls.full);
  });

  it("are planned: what is decided beforehand exactly, what is measured within its limits", async () => {
    const options = { guidanceMinSigma: 0.2, featureInterval: 2, skipThreshold: 0.02 };
    const { stages } = await pipeline.plan({ ...OPTIONS, ...options });
    const video = await generate(options);
    const names = { full: "denoise", unguided: "denoise, unguided", skipped: "denoise, call skipped" };
    for (const [kind, name] of Object.entries(names)) {
      const stage = stages.find((each) => each.name === name)!;
      const made = video.denoiserCalls[kind as keyof typeof names];
      expect(made).toBeLessThanOrEqual(stage.runs);
      expect(made).toBeGreaterThanOrEqual(stage.fewestRuns ?? stage.runs);
    }
    const fixed = await pipeline.plan({ ...OPTIONS, guidanceMinSigma: 0.2, featureInterval: 2 });
    expect(
      fixed.stages
        .filter(({ name }) => name.startsWith("denoise"))
        .map(({ name, runs, fewestRuns }) => [name, runs, fewestRuns]),
    ).toEqual([
      ["denoise", 3, undefined],
      ["denoise, unguided", 1, undefined],
      ["denoise, reusing features", 3, undefined],
      ["denoise, unguided, reusing features", 1, undefined],
    ]);
  });

  it("share their working memory: all kinds take little more than the full one", async () => {
    const alone = await generate({});
    const all = await generate({ guidanceMinSigma: 0.2, featureInterval: 2, skipThreshold: 0.02 });
    expect(all.peakBytes).toBeLessThan(1.25 * alone.peakBytes);
  });

  it("show previews, give latents to onStepEnd and take others", async () => {
    const options = { featureInterval: 3, skipThreshold: 0.02 };
    const wanted = await small(options);
    const previews: number[] = [];
    const seen = await small({
      ...options,
      previewEvery: 2,
      onPreview: ({ step }) => previews.push(step),
      onStepEnd: () => undefined,
    });
    expect(previews).toEqual([2, 4]);
    expect(sameBytes(seen.data, wanted.data)).toBe(true);
    const changed = await small({
      ...options,
      onStepEnd: ({ step, latents }) => (step === 4 ? latents.map((v) => v * 1.1) : undefined),
    });
    expect(sameBytes(changed.data, wanted.data)).toBe(false);
  });

  it("compute features that would have been reused once the latents are others", async () => {
    const options = { featureInterval: 99, guidanceMinSigma: 20 };
    expect((await small(options)).denoiserCalls.unguided).toBe(0);
    const changed = await small({ ...options, onStepEnd: ({ step, latents }) => (step === 5 ? latents : undefined) });
    expect(changed.denoiserCalls).toMatchObject({ unguided: 1, "unguided, reusing": expect.any(Number) });
  });

  it("serve several videos, little memory and isolated chunks as full calls do", async () => {
    const options = { featureInterval: 2, skipThreshold: 0.02 };
    const wanted = await small(options);
    const { image, seed, ...rest } = { ...QUICK, steps: 6 };
    const videos = await pipeline.generateBatch({ ...rest, ...options, images: [image], seeds: [seed, 8] });
    expect(sameBytes(videos[0]!.data, wanted.data)).toBe(true);
    expect(sameBytes((await small({ ...options, memory: "low" })).data, wanted.data)).toBe(true);
    const chunks = await small({ ...options, decodeChunk: 2, isolateDecodeChunks: true });
    expect(chunks.data.length).toBe(wanted.data.length);
  });

  it("stop within a step, and the pipeline works again", async () => {
    const controller = new AbortController();
    const steps: number[] = [];
    const onProgress = ({ stage, step }: { stage: string; step: number }) => {
      if (stage !== "denoise") return;
      steps.push(step);
      if (step === 3) controller.abort();
    };
    const error = await failureOf(small({ featureInterval: 2, signal: controller.signal, onProgress }));
    expect(error.code).toBe("cancelled");
    expect(Math.max(...steps)).toBe(3);
    expect((await small({})).denoiserCalls.full).toBe(6);
  });

  it("are refused where a denoiser runs elsewhere, before any work", async () => {
    const zeros = {
      name: "zeros",
      prepare: async () => undefined,
      open: async () => ({ predict: async ({ latents }: { latents: Float32Array }) => latents, close: async () => {} }),
    };
    const elsewhere = await openTiny({ denoiser: zeros });
    const error = await failureOf(elsewhere.generate({ ...OPTIONS, featureInterval: 2 }));
    expect(error.code).toBe("unsupported");
    expect(error.message).toContain(
      "[featureInterval] expected own kernels and a sampler whose steps run on the device, got the denoiser zeros.",
    );
    elsewhere.dispose();
  });
});

describe("fast", () => {
  it("sets what is not given, and only that", async () => {
    const { FAST } = await import("../../src/options/fast");
    expect(sameBytes((await small({ fast: true })).data, (await small(FAST)).data)).toBe(true);
    const own = await small({ fast: true, featureInterval: 1 });
    expect(own.denoiserCalls["full, reusing"]).toBe(0);
  });
});
