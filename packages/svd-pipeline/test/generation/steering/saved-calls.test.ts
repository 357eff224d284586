import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import type { GenerateOptions, StableVideoDiffusionPipeline } from "../../../src/index";
import { psnr, sameBytes } from "../../support/measures";
import { rememberedRuns } from "../../support/remembered-runs";
import { openTiny, PICTURE, QUICK } from "../../support/tiny-model";

/** Two clips of three frames. */
const CLIPS = { ...QUICK, steps: 6, numFrames: 5, clipFrames: 3, overlap: 1 } as const satisfies GenerateOptions;
/** Turns all savings off. */
const EXACT = { guidanceMinSigma: 0, guidanceMaxSigma: undefined, featureInterval: 1, skipThreshold: 0 } as const;
const ALL = { guidanceMinSigma: 0.2, featureInterval: 2, skipThreshold: 0.02 } as const;

const folder = mkdtempSync(join(tmpdir(), "vd-saved-calls-"));
let pipeline: StableVideoDiffusionPipeline;
const wholeOf = rememberedRuns(() => pipeline);
beforeAll(async () => {
  pipeline = await openTiny();
});
afterAll(() => rmSync(folder, { recursive: true, force: true }));

const total = (counts: object) => Object.values(counts).reduce((sum: number, n: number) => sum + n, 0);

describe("calls of a video of several clips", () => {
  it("that are all made in full give the bytes of the exact run", async () => {
    const exact = await wholeOf({ ...CLIPS, ...EXACT });
    for (const options of [{ guidanceMaxSigma: 1e5 }, { skipThreshold: 1e-9 }]) {
      const video = await pipeline.generate({ ...CLIPS, ...options });
      expect(sameBytes(video.data, exact.data)).toBe(true);
      expect(video.denoiserCalls).toMatchObject({ full: 12, skipped: 0 });
    }
  });

  it.each<[string, Partial<GenerateOptions>]>([
    ["guidance at some noise levels", { guidanceMinSigma: 0.2, guidanceMaxSigma: 100 }],
    ["features that are reused", { featureInterval: 2 }],
    ["skipped calls", { skipThreshold: 0.05 }],
    ["all of it", ALL],
    ["all of it, with history", { ...ALL, sampler: "dpmpp_2m" }],
    ["all of it, with two calls a step", { ...ALL, sampler: "heun" }],
    ["all of it, with noise between the steps", { ...ALL, sampler: "euler_a" }],
    ["all of it, in a loop", { ...ALL, loop: true }],
    ["all of it, towards a last picture", { ...ALL, lastImage: PICTURE }],
    ["all of it, with frames between all others", { ...ALL, numFrames: 3, interpolation: "denoise" }],
  ])("are saved as planned, with the same bytes twice: %s", async (_, options) => {
    const given = { ...CLIPS, ...options };
    const exact = await wholeOf({
      ...given,
      ...EXACT,
    });
    const [first, second] = [await wholeOf(given), await pipeline.generate(given)];
    expect(sameBytes(first.data, second.data)).toBe(true);
    expect(sameBytes(first.data, exact.data)).toBe(false);
    expect(first.denoiserCalls.full).toBeLessThan(exact.denoiserCalls.full);
    const plan = await pipeline.plan(given);
    const stages = plan.stages.filter(({ name }) => name.startsWith("denoise"));
    const names = { full: "denoise", unguided: "denoise, unguided", "full, reusing": "denoise, reusing features" };
    for (const [kind, name] of Object.entries(names)) {
      const stage = stages.find((each) => each.name === name);
      const made = first.denoiserCalls[kind as keyof typeof names];
      expect(made).toBeLessThanOrEqual(stage?.runs ?? 0);
      expect(made).toBeGreaterThanOrEqual(stage?.fewestRuns ?? stage?.runs ?? 0);
    }
  });

  it("are those of a clip that is made alone, clip by clip", async () => {
    // The first clip, with the same noise: its steps are taken on the device where it is alone.
    const length = 4 * 4 * 4;
    const latents = Float32Array.from({ length: 5 * length }, (_, i) => Math.sin(i * i));
    const common = { ...CLIPS, ...ALL, outputType: "latent", holdColours: 0 } as const;
    const chained = await pipeline.generate({ ...common, latents });
    const alone = await pipeline.generate({ ...common, numFrames: 3, latents: latents.slice(0, 3 * length) });
    const difference = alone.latents!.map((value, i) => Math.abs(value - chained.latents![i]!));
    expect(Math.max(...difference)).toBeLessThan(1e-3);
    // The second one, by a pipeline that has made nothing before.
    const resume = join(folder, "alone");
    const stop = new AbortController();
    const onProgress = ({ stage, step }: { stage: string; step: number }) => {
      if (stage === "denoise" && step === 6) stop.abort();
    };
    await expect(pipeline.generate({ ...CLIPS, ...ALL, resume, signal: stop.signal, onProgress })).rejects.toThrow();
    const fresh = await openTiny();
    const video = await fresh.generate({ ...CLIPS, ...ALL, resume });
    const whole = await wholeOf({ ...CLIPS, ...ALL });
    expect(sameBytes(video.data, whole.data)).toBe(true);
    expect(total(video.denoiserCalls)).toBeLessThanOrEqual(total(whole.denoiserCalls) / 2);
    fresh.dispose();
  });

  it("goes on after each step with the same bits", async () => {
    const options = { ...CLIPS, ...ALL, featureInterval: 3, lastImage: PICTURE };
    const whole = await pipeline.generate(options);
    for (const after of [3, 6, 11]) {
      const resume = join(folder, `after ${after}`);
      const stop = new AbortController();
      const onProgress = ({ stage, step }: { stage: string; step: number }) => {
        if (stage === "denoise" && step === after) stop.abort();
      };
      await expect(pipeline.generate({ ...options, resume, signal: stop.signal, onProgress })).rejects.toThrow();
      const video = await pipeline.generate({ ...options, resume });
      expect(sameBytes(video.data, whole.data)).toBe(true);
    }
  });

  it("are saved by a video without an end too", async () => {
    const { image, width, height, steps, seed, clipFrames, overlap } = CLIPS;
    const frames: Uint8Array[][] = [];
    for (const savings of [{}, ALL, ALL]) {
      const video = await pipeline.endless({ image, width, height, steps, seed, clipFrames, overlap, ...savings });
      frames.push([(await video.nextClip()).frames, (await video.nextClip()).frames]);
      await video.close();
    }
    const [exact, first, second] = frames as [Uint8Array[], Uint8Array[], Uint8Array[]];
    for (const clip of [0, 1]) {
      expect(sameBytes(first[clip]!, second[clip]!)).toBe(true);
      expect(sameBytes(first[clip]!, exact[clip]!)).toBe(false);
    }
  });

  it("are saved by `fast` in a video of many clips, near the exact one", async () => {
    const options = { ...QUICK, width: 64, height: 64, steps: 6, numFrames: 5, clipFrames: 4, overlap: 3 };
    const exact = await pipeline.generate(options);
    const fast = await pipeline.generate({ ...options, fast: true });
    expect(psnr(fast.data, exact.data)).toBeGreaterThan(30);
    expect(fast.denoiserCalls.full).toBeLessThan(exact.denoiserCalls.full);
  });
});
