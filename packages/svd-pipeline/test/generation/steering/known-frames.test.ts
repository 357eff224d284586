import { createSampler, samplerNames } from "@vd/sampling";
import { describe, expect, it } from "vitest";
import { denoise } from "../../../src/denoising/denoise";
import { HostStepper, type Predict } from "../../../src/denoising/host-stepper";
import { fromBothEnds, knowingFrames, reversedFrames } from "../../../src/generation/steering/known-frames";

const SCHEDULER = {
  _class_name: "EulerDiscreteScheduler",
  ...{ prediction_type: "v_prediction", beta_schedule: "scaled_linear", beta_start: 0.00085, beta_end: 0.012 },
  ...{ timestep_type: "continuous", sigma_min: 0.002, sigma_max: 700, use_karras_sigmas: true },
};
const LENGTH = 6;
const clean = Float32Array.from({ length: LENGTH }, (_, i) => Math.sin(3 * i + 1));
/** A model that knows nothing and changes its mind with the sample. */
const blind: Predict = async ({ latents }) => latents.map((value, i) => 0.1 * Math.sin(value + i));

async function resultOf(
  name: (typeof samplerNames)[number],
  frames: readonly (Float32Array | undefined)[],
  leadsTo = false,
) {
  const sampler = createSampler(SCHEDULER, { name, steps: 6 });
  const random = (i: number) => Math.sin(17 * i * i + 0.3) * sampler.initNoiseSigma;
  const stepper = new HostStepper({
    predict: knowingFrames(blind, { frames, sampler, leadsTo }),
    sampler,
    latents: Float32Array.from({ length: LENGTH * frames.length }, (_, i) => random(i)),
    noise: async () => Float32Array.from({ length: LENGTH * frames.length }, (_, i) => Math.sin(5 * i)),
  });
  return denoise(stepper, sampler, { onStep: async () => undefined });
}

describe("known frames", () => {
  it.each(samplerNames)("are what %s ends at, and leave the others alone", async (name) => {
    const result = await resultOf(name, [undefined, clean, undefined]);
    const known = result.subarray(LENGTH, 2 * LENGTH);
    const worst = Math.max(...known.map((value, i) => Math.abs(value - clean[i]!)));
    expect(worst).toBeLessThan(0.05);
    const alone = await resultOf(name, [undefined, undefined, undefined]);
    expect(result.subarray(0, LENGTH)).toEqual(alone.subarray(0, LENGTH));
    expect(result.subarray(2 * LENGTH)).toEqual(alone.subarray(2 * LENGTH));
    expect(result.subarray(LENGTH, 2 * LENGTH)).not.toEqual(alone.subarray(LENGTH, 2 * LENGTH));
  });
});

describe("frames that lead to a known one", () => {
  const distance = (frame: Float32Array) => Math.hypot(...frame.map((value, i) => value - clean[i]!));

  it("come nearer to it, the nearer they are, and those far from it stay", async () => {
    const frames = [...Array.from({ length: 6 }, () => undefined), clean];
    const [free, led] = [await resultOf("euler", frames), await resultOf("euler", frames, true)];
    const at = (latents: Float32Array, i: number) => latents.subarray(i * LENGTH, (i + 1) * LENGTH);
    expect(at(led, 0)).toEqual(at(free, 0));
    expect(at(led, 1)).toEqual(at(free, 1));
    for (const i of [3, 4, 5]) expect(distance(at(led, i))).toBeLessThan(distance(at(free, i)));
    expect(distance(at(led, 6))).toBeLessThan(0.05);
  });
});

describe("both ends", () => {
  const call = (index: number) => ({
    ...{ latents: Float32Array.of(1, 2, 3), inputScale: 1, timestep: 0 },
    ...{ index, kind: "full" as const, denoised: new Float32Array() },
  });

  it("count by how near they are, in the first calls", async () => {
    const backwardSaw: number[][] = [];
    const predict = fromBothEnds(
      async () => Float32Array.of(10, 10, 10),
      async ({ latents }) => {
        backwardSaw.push([...latents]);
        return Float32Array.of(100, 200, 300);
      },
      { numFrames: 3, numCalls: 1 },
    );
    expect([...(await predict(call(0)))]).toEqual([10, (10 + 200) / 2, 100]);
    expect([...(await predict(call(1)))]).toEqual([10, 10, 10]);
    expect(backwardSaw).toEqual([[3, 2, 1]]);
  });

  it("are seen in the opposite order, frame by frame", () => {
    expect([...reversedFrames(Float32Array.of(1, 2, 3, 4, 5, 6), 3)]).toEqual([5, 6, 3, 4, 1, 2]);
  });
});
