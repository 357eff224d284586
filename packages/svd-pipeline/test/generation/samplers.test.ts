import { beforeAll, describe, expect, it } from "vitest";
import { type SamplerName, type StableVideoDiffusionPipeline, samplerNames } from "../../src/index";
import { deviation, psnr, sameBytes } from "../support/measures";
import { openTiny, QUICK } from "../support/tiny-model";

/** At this size the model gives pictures; the sampler's steps are enough for the first-order ones too. */
const OPTIONS = { ...QUICK, width: 64, height: 64, numFrames: 2, steps: 8, maxGuidance: 1 };

/** dB against `euler` with as many steps. Deterministic samplers end near each other; those that draw noise between
 *  steps tell another story about the same picture, and the ones for distilled models a blurred one. */
const LEAST_PSNR: Readonly<Record<string, number>> = {
  euler: 99,
  edm_euler: 50,
  flow_euler: 50,
  ddim: 50,
  heun: 20,
  kdpm2: 20,
  lms: 20,
  edm_dpmpp_2m: 24,
  dpmpp_2m: 24,
  unipc: 24,
  euler_a: 18,
  lcm: 18,
  tcd: 18,
};
/** Of any other sampler. */
const LEAST_PSNR_OF_OTHERS = 17;

let pipeline: StableVideoDiffusionPipeline;
let wanted: Uint8Array;
beforeAll(async () => {
  pipeline = await openTiny();
  wanted = (await pipeline.generate(OPTIONS)).data;
});

describe("samplers", () => {
  it("with bounds of their own are all there", () => {
    expect(samplerNames).toEqual(expect.arrayContaining(Object.keys(LEAST_PSNR)));
  });

  it.each(samplerNames)("%s makes a video of the picture", async (sampler) => {
    const { data } = await pipeline.generate({ ...OPTIONS, sampler });
    const likeness = psnr(data, wanted);
    expect(likeness).toBeGreaterThan(LEAST_PSNR[sampler] ?? LEAST_PSNR_OF_OTHERS);
    expect(deviation(data) / deviation(wanted)).toBeGreaterThan(0.6);
    expect(deviation(data) / deviation(wanted)).toBeLessThan(1.6);
  });

  it("of second order are nearer to the limit of many steps than euler", async () => {
    const limit = (await pipeline.generate({ ...OPTIONS, sampler: "heun", steps: 30 })).data;
    const likeness = async (sampler: SamplerName) =>
      psnr((await pipeline.generate({ ...OPTIONS, sampler, steps: 12 })).data, limit);
    const first = await likeness("euler");
    for (const sampler of ["heun", "dpmpp_2m", "unipc"] as const)
      expect([sampler, await likeness(sampler)]).toEqual([sampler, expect.toSatisfy((value: number) => value > first)]);
  });

  it.each(["euler_a", "lcm"] as const)("%s repeats its own noise for the same seed", async (sampler) => {
    const options = { ...QUICK, sampler, steps: 3 };
    const [first, second] = [await pipeline.generate(options), await pipeline.generate(options)];
    expect(sameBytes(first.data, second.data)).toBe(true);
    const other = await pipeline.generate({ ...options, seed: 8 });
    expect(sameBytes(other.data, first.data)).toBe(false);
  });

  it("takes the class name for the short one", async () => {
    const [short, long] = [
      await pipeline.generate({ ...QUICK, sampler: "heun" }),
      await pipeline.generate({ ...QUICK, sampler: "HeunDiscreteScheduler" }),
    ];
    expect(sameBytes(short.data, long.data)).toBe(true);
  });
});
