import { cpSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import type { ModelComponents } from "../../src/opening/components";
import { settleDistillation } from "../../src/opening/distilled";
import { copyOfTiny, openTiny, QUICK, TINY_SVD, temporaryFolder, WEIGHT_FILES } from "../support/tiny-model";

const euler = { _class_name: "EulerDiscreteScheduler", sigma_max: 500, timestep_type: "continuous" };
const settle = (source: string, options: Parameters<typeof settleDistillation>[1] = {}, scheduler: object = euler) =>
  settleDistillation({ source, scheduler } as ModelComponents, options);

describe("a distilled model", () => {
  it.each([
    ["/models/AnimateLCM-SVD-xt-1.1.safetensors", true],
    ["/models/svd_lcm", true],
    ["/models/svd-xt-TCD.safetensors", true],
    ["/lcm/stable-video-diffusion-img2vid-xt", false],
    ["/models/svd_xt.safetensors", false],
    ["/models/welcme", false],
  ])("is known by its own name: %s", (source, expected) => {
    expect(settle(source).distilled).toBe(expected);
    expect(settle("/models/svd_xt", { unet: source }).distilled).toBe(expected);
    expect(settle(source, { distilled: !expected }).distilled).toBe(!expected);
  });

  it("by its scheduler, which it keeps; another one's levels go to that of distilled models", () => {
    const lcm = { _class_name: "LCMScheduler" };
    expect(settle("/models/x", {}, lcm)).toMatchObject({ distilled: true, scheduler: lcm });
    expect(settle("/models/x-lcm").scheduler).toEqual({
      _class_name: "AnimateLCMSVDStochasticIterativeScheduler",
      ...{ num_train_timesteps: 40, sigma_min: 0.002, sigma_max: 500, sigma_data: 1, s_noise: 1, rho: 7 },
      clip_denoised: false,
    });
    expect(settle("/models/x").scheduler).toBe(euler);
  });

  it("takes four steps without guidance: one row of everything", async () => {
    const file = join(temporaryFolder(), "AnimateLCM-SVD-tiny.safetensors");
    cpSync(join(TINY_SVD, WEIGHT_FILES.unet), file);
    const distilled = await openTiny({ unet: file });
    expect(distilled.defaults).toMatchObject({ steps: 4, minGuidance: 1, maxGuidance: 1 });
    const { steps: _, ...rest } = QUICK;
    const [half, whole] = [await distilled.plan(rest), await distilled.plan({ ...rest, maxGuidance: 1.2 })];
    const denoise = ({ stages }: typeof half) => stages.find(({ name }) => name === "denoise")!;
    expect(denoise(half).runs).toBe(4);
    expect(denoise(whole).flops / denoise(half).flops).toBeCloseTo(2, 1);
    expect((await distilled.generate(rest)).denoiserCalls.full).toBe(4);
  });
});

describe("warnings", () => {
  /** What a generation and its plan warn of. */
  async function warningsOf(load: Parameters<typeof openTiny>[0], options: object): Promise<string[]> {
    const pipeline = await openTiny(load);
    const heard: string[] = [];
    const all = { ...QUICK, ...options };
    await pipeline.generate({ ...all, onWarning: (message) => heard.push(message) });
    expect((await pipeline.plan(all)).warnings).toEqual(heard);
    return heard;
  }

  it.each<[string, object, object, RegExp[]]>([
    ["few steps of a model of many", {}, { steps: 1 }, [/^1 step is too few for a model that is not distilled/]],
    [
      "a sampler of distilled models on another",
      {},
      { sampler: "lcm", steps: 4 },
      [/^LCMScheduler is made for models/],
    ],
    [
      "many steps, guidance and another sampler on a distilled one",
      { distilled: true },
      { sampler: "euler", steps: 17, maxGuidance: 3, numFrames: 1 },
      [
        /^The model is distilled for few steps, and EulerDiscreteScheduler is not made for such/,
        /^The model is distilled for few steps: 17 make/,
        /guidance of 3 doubles the work/,
      ],
    ],
    ["nothing where all fits", {}, { steps: 3 }, []],
    ["nothing where all fits a distilled one", { distilled: true }, { steps: 4, sampler: "tcd", maxGuidance: 1.2 }, []],
  ])("of %s", async (_, load, options, expected) => {
    const heard = await warningsOf(load, options);
    expect(heard).toHaveLength(expected.length);
    expected.forEach((pattern, i) => {
      expect(heard[i]).toMatch(pattern);
    });
  });

  it("go to the process, each once, where nobody listens", async () => {
    const pipeline = await openTiny({ distilled: false });
    const heard: string[] = [];
    const listen = ({ name, message }: Error) => name === "VdWarning" && heard.push(message);
    process.on("warning", listen);
    for (let i = 0; i < 2; i++) await pipeline.generate({ ...QUICK, steps: 1 });
    await new Promise((resolve) => setImmediate(resolve));
    process.off("warning", listen);
    expect(heard).toEqual([expect.stringMatching(/^1 step is too few/)]);
  });

  it("are for folders too: a scheduler of distilled models says so", async () => {
    const folder = copyOfTiny();
    const { editJson } = await import("../support/tiny-model");
    editJson(join(folder, "scheduler/scheduler_config.json"), {
      _class_name: "AnimateLCMSVDStochasticIterativeScheduler",
      num_train_timesteps: 40,
      clip_denoised: false,
      sigma_data: 1,
    });
    const { StableVideoDiffusionPipeline } = await import("../../src/index");
    const pipeline = await StableVideoDiffusionPipeline.fromPretrained(folder);
    expect(pipeline.defaults.steps).toBe(4);
    expect((await pipeline.plan({ image: QUICK.image, numFrames: 1 })).warnings).toEqual([]);
  });
});
