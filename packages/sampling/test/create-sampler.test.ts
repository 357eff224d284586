import { readdirSync } from "node:fs";
import { VdError } from "@vd/kernels-native";
import { describe, expect, it } from "vitest";
import { moments, sampleGaussian, svdConfig } from "../../../tooling/testing/svd-sampling";
import type { SchedulerConfig } from "../src/config";
import { createSampler, findSampler, samplerDefinitions, samplerNames } from "../src/create-sampler";
import type { SamplerName } from "../src/index";
import type { Sampler, SamplerState } from "../src/sampler";

const data = { mean: 0.5, deviation: 0.8 };
const count = 4096;

function errorOf(run: () => unknown): VdError {
  try {
    run();
  } catch (error) {
    if (error instanceof VdError) return error;
    throw error;
  }
  throw new Error("nothing was thrown");
}

describe("names", () => {
  it("are those of the command line", () => {
    expect(samplerNames[0]).toBe("euler");
    for (const name of ["euler_a", "heun", "ddim", "dpmpp_2m", "unipc", "lcm", "edm_euler", "tcd"])
      expect(samplerNames).toContain(name);
  });

  it("and classes are each one sampler's, one for every file of the folder", () => {
    const files = readdirSync(new URL("../src/samplers", import.meta.url));
    expect(samplerNames).toHaveLength(files.length);
    expect(new Set(samplerNames).size).toBe(files.length);
    expect(new Set(samplerDefinitions.map(({ className }) => className)).size).toBe(files.length);
  });

  it("that are unknown get the list and the nearest", () => {
    const error = errorOf(() => createSampler(svdConfig, { name: "dpmpp2m", steps: 4 }));
    expect(error.code).toBe("attr");
    expect(error.message).toBe(
      `[sampler] expected one of ${samplerNames.join(", ")}, got "dpmpp2m". The nearest name is dpmpp_2m.`,
    );
    expect(errorOf(() => findSampler("Euler-a")).hint).toContain("euler_a");
  });

  it("of classes in a config are known, other classes refused", () => {
    expect(findSampler("HeunDiscreteScheduler").name).toBe("heun");
    expect(findSampler("sample_dpmpp_2m_sde").name).toBe("dpmpp_2m_sde");
    expect(errorOf(() => createSampler({ _class_name: "VQDiffusionScheduler" }, { steps: 4 })).got).toBe(
      '"VQDiffusionScheduler"',
    );
  });
});

describe("on SVD", () => {
  it.each(samplerNames.filter((name) => name !== "animatelcm"))(
    "%s keeps the model's noise levels, timesteps and first sample",
    (name) => {
      const own = createSampler(svdConfig, { steps: 12 });
      const sampler = createSampler(svdConfig, { name, steps: 12 });
      const calls = sampler.timesteps.map((_, call) => call);
      const firsts = calls.filter((call) => call === 0 || sampler.stepIndexOf(call) !== sampler.stepIndexOf(call - 1));
      expect(firsts.map((call) => sampler.timesteps[call])).toEqual(own.timesteps);
      expect(firsts.map((call) => sampler.sigmas[call])).toEqual(Array.from(own.sigmas.subarray(0, -1)));
      for (const call of calls) expect(sampler.timesteps[call]).toBeCloseTo(0.25 * Math.log(sampler.sigmas[call]!), 5);
      expect(sampler.sigmas.at(-1)).toBe(0);
      expect(sampler.initNoiseSigma).toBe(Math.fround(Math.sqrt(700 ** 2 + 1)));
      expect(sampler.numSteps).toBe(12);
      expect(sampler.inputScale(0)).toBeCloseTo(1 / Math.sqrt(700 ** 2 + 1), 9);
      expect(sampler.modelTimestep(0)).toBeCloseTo(0.25 * Math.log(700), 6);
    },
  );

  it.each(samplerNames)("%s turns noise into the data's distribution", (name) => {
    // The stochastic samplers for distilled models lose some variance on others, most of all animatelcm, which leaves the
    // last part to one prediction; Euler's converge slowly.
    const lossy: Partial<Record<SamplerName, number>> = {
      lcm: 0.4,
      animatelcm: 0.1,
      tcd: 0.4,
      euler_a: 0.5,
      ddpm: 0.5,
    };
    const least = lossy[name] ?? 0.62;
    const { mean, deviation } = moments(sampleGaussian(createSampler(svdConfig, { name, steps: 25 }), data, count));
    expect(Math.abs(mean - data.mean)).toBeLessThan(0.04);
    expect(deviation).toBeGreaterThan(least);
    expect(deviation).toBeLessThan(0.95);
  });

  it.each(samplerNames.filter((name) => !["lcm", "animatelcm", "tcd"].includes(name)))(
    "%s comes nearer to it with more steps",
    (name) => {
      const sampler = createSampler(svdConfig, { name, steps: 120 });
      const within = name === "euler_a" || name === "ddpm" ? 0.1 : 0.05; // Of first order, and stochastic.
      expect(Math.abs(moments(sampleGaussian(sampler, data, 2048)).deviation - data.deviation)).toBeLessThan(within);
    },
  );

  const deterministic = ["euler", "heun", "ddim", "dpmpp_2m", "unipc", "edm_euler", "edm_dpmpp_2m", "dpmpp_2s", "deis"];
  deterministic.push("kdpm2", "lms", "pndm", "ipndm", "flow_euler", "flow_heun");
  it.each(deterministic)("%s converges with more steps", (name) => {
    const deviationAt = (steps: number) =>
      moments(sampleGaussian(createSampler(svdConfig, { name, steps }), data, 128)).deviation;
    const [few, many, limit] = [deviationAt(20), deviationAt(60), deviationAt(300)];
    expect(Math.abs(many - limit)).toBeLessThan(Math.abs(few - limit) / 2);
  });

  it("samplers that mean the same take the same steps", () => {
    const run = (name: string, eta?: number) =>
      sampleGaussian(createSampler(svdConfig, { name, steps: 20, ...(eta !== undefined && { eta }) }), data, 64);
    const distance = (a: Float32Array, b: Float32Array) => Math.max(...a.map((value, i) => Math.abs(value - b[i]!)));
    expect(run("edm_euler")).toEqual(run("euler"));
    expect(distance(run("ddim"), run("euler"))).toBeLessThan(1e-4);
    expect(distance(run("ddim", 1), run("euler_a"))).toBeLessThan(1e-4);
    expect(run("flow_euler")).toEqual(run("euler"));
    expect(run("edm_dpmpp_2m")).toEqual(run("dpmpp_2m"));
    expect(distance(run("ddpm"), run("euler_a"))).toBeLessThan(1e-4);
    expect(distance(run("dpmpp_2m_sde", 0), run("dpmpp_2m"))).toBeLessThan(1e-4);
    expect(distance(run("tcd", 0), run("euler"))).toBeLessThan(1e-4);
    expect(distance(run("tcd", 1), run("lcm"))).toBeLessThan(1e-4);
  });

  it("every sampler takes custom noise levels", () => {
    const sigmas = [700, 54.5, 15.886, 7.977, 4.248, 1.789, 0.981, 0.403, 0.173, 0.034, 0];
    for (const name of samplerNames) {
      const sampler = createSampler(svdConfig, { name, sigmas });
      expect(sampler.numSteps).toBe(10);
      expect(moments(sampleGaussian(sampler, data, 256)).mean).toBeCloseTo(0.5, 0);
    }
  });

  it("float16 samples stay float16 values and near the float32 ones", () => {
    const final = (dtype: "float32" | "float16") =>
      moments(sampleGaussian(createSampler(svdConfig, { name: "unipc", steps: 10, dtype }), data, 512));
    expect(Math.abs(final("float16").mean - final("float32").mean)).toBeLessThan(0.05);
  });
});

describe("custom noise levels", () => {
  const discrete = { _class_name: "EulerDiscreteScheduler" };
  const ownTable = (config: SchedulerConfig, steps: number) => Array.from(createSampler(config, { steps }).sigmas);

  it.each([
    ["ends in its smallest level", { ...discrete, final_sigmas_type: "sigma_min" }, 3],
    ["ends above the level before", { ...svdConfig, final_sigmas_type: "sigma_min" }, 6],
    ["has more levels than were trained", { ...discrete, timestep_spacing: "trailing", num_train_timesteps: 50 }, 80],
  ])("may be a config's own table that %s", (_, config, steps) => {
    const sigmas = ownTable(config, steps);
    expect(sigmas.some((sigma, i) => i > 0 && sigma >= sigmas[i - 1]!)).toBe(true);
    expect(Array.from(createSampler(config, { sigmas }).sigmas)).toEqual(sigmas);
  });

  it.each(samplerNames)("of %s may repeat the last one", (name) => {
    const sampler = createSampler(svdConfig, { name, sigmas: [700, 50, 10, 1, 0.1, 0.1] });
    expect(moments(sampleGaussian(sampler, data, 64)).mean).toBeCloseTo(0.5, 0);
  });

  it.each(samplerNames)("of %s that repeat another one give samples or an error that names the level", (name) => {
    const sigmas = [700, 50, 10, 10, 1, 0.1, 0];
    let sampler: Sampler;
    try {
      sampler = createSampler(svdConfig, { name, sigmas });
    } catch (error) {
      expect(String(error)).toContain("[sigmas[3]] expected less than 10 with");
      return;
    }
    expect(moments(sampleGaussian(sampler, data, 64)).mean).toBeCloseTo(0.5, 0);
  });

  it("repeat for single-step rules, not for those that divide by past steps", () => {
    const sigmas = [700, 10, 10, 0];
    expect(createSampler(svdConfig, { name: "euler", sigmas }).numSteps).toBe(3);
    expect(errorOf(() => createSampler(svdConfig, { name: "dpmpp_2m", sigmas })).code).toBe("attr");
  });

  it.each([
    [[1, 2, 0], "[sigmas[1]] expected at most 1, got 2"],
    [[2, 1, 1.5], "[sigmas[2]] expected at most 1, got 1.5"],
    [[2, 0, 0], "[sigmas[1]] expected a positive number, since only the last noise level is 0, got 0"],
    [[2, Number.NaN], "[sigmas[1]] expected a finite number, not negative, got NaN"],
  ])("%j are refused", (sigmas, message) => {
    expect(errorOf(() => createSampler(svdConfig, { sigmas })).message).toContain(message);
  });
});

describe("on an EDM model", () => {
  const edm = { _class_name: "EDMEulerScheduler", sigma_data: 1, prediction_type: "v_prediction", sigma_max: 700 };

  it("with σ_data 1 and v-prediction, samples as SVD does", () => {
    const run = (config: SchedulerConfig, name: string) =>
      sampleGaussian(createSampler(config, { name, steps: 20 }), data, 32);
    for (const name of ["euler", "dpmpp_2m", "heun"]) {
      const [a, b] = [run(edm, name), run(svdConfig, name)];
      expect(Math.max(...a.map((value, i) => Math.abs(value - b[i]!)))).toBeLessThan(2e-3);
    }
  });
});

describe("on a model with discrete timesteps", () => {
  const discrete = {
    _class_name: "DDIMScheduler",
    beta_schedule: "scaled_linear",
    beta_start: 0.00085,
    beta_end: 0.012,
  };

  it.each(samplerNames)("%s has its own schedule with the shared settings", (name) => {
    const sampler = createSampler(discrete, { name, steps: 8 });
    const { className } = findSampler(name);
    const expected = createSampler({ ...discrete, _class_name: className }, { steps: 8 });
    expect(sampler.className).toBe(className);
    expect(sampler.timesteps).toEqual(expected.timesteps);
    expect(sampler.sigmas).toEqual(expected.sigmas);
  });
});

describe("what makes no sampler", () => {
  const make = (options: unknown, config: SchedulerConfig = svdConfig) =>
    errorOf(() => createSampler(config, options as { steps: number }));

  it.each([undefined, null, 7, "x"])("options that are %j are named", (options) => {
    expect(make(options)).toMatchObject({ code: "attr", where: "createSampler" });
  });

  it.each([
    ["sigmas", { sigmas: "3,1,0" }, '"3,1,0"'],
    ["sigmas", { sigmas: 3 }, "3"],
    ["sigmas", { sigmas: [] }, "0 numbers"],
    ["sigmas", { sigmas: [1] }, "1"],
    ["sigmas", { sigmas: new Float32Array(10_002) }, "10002 numbers"],
    ["timesteps", { timesteps: {} }, "{}"],
  ])("%s are checked by their own name: %j", (where, options, got) => {
    expect(make(options)).toMatchObject({ code: "attr", where, got });
  });

  it.each([
    ["below zero", { sigma_max: -1 }],
    ["above one", { beta_start: 2, use_karras_sigmas: false }],
    ["no numbers", { trained_betas: [Number.NaN] }],
  ])("a config whose bounds are %s leaves no level that is no number", (_, bounds) => {
    for (const name of ["euler", "dpmpp_2m", "heun", "ddim"])
      expect(make({ name, steps: 3 }, { ...svdConfig, ...bounds }).message).toContain("scheduler_config.json");
  });
});

describe("few steps over SVD's levels, which fall from 700 to 0.002 at once", () => {
  const noiseOf = (call: number) => Float32Array.from({ length: 8 }, (_, i) => Math.cos(3 * i + call));

  it.each(samplerNames)("%s stays finite and asks its model about no level 0", (name) => {
    for (const steps of [1, 2, 3, 4, 5]) {
      const sampler = createSampler(svdConfig, { name, steps });
      let x: Float32Array = Float32Array.from({ length: 8 }, (_, i) => Math.sin(7 * i) * sampler.initNoiseSigma);
      let state: SamplerState | undefined;
      for (let call = 0; call < sampler.numModelCalls; call++) {
        expect(Number.isFinite(sampler.modelTimestep(call)), `timestep of call ${call} of ${steps} steps`).toBe(true);
        const noise = sampler.noiseDrawsAt(call) ? noiseOf(call) : undefined;
        const modelOutput = Float32Array.from({ length: 8 }, (_, i) => Math.sin(i + call));
        ({ x, state } = sampler.step(call, { x, modelOutput, noise, state }));
        expect(x.every(Number.isFinite), `call ${call} of ${steps} steps`).toBe(true);
      }
    }
  });

  it.each(["dpmpp_2s_a", "kdpm2_a"] as const)("%s ends such a step at the prediction and new noise", (name) => {
    const sampler = createSampler(svdConfig, { name, steps: 2 });
    expect([...sampler.sigmas].slice(1)).toEqual([Math.fround(0.002), 0]);
    const [x, modelOutput] = [new Float32Array(8).fill(700), new Float32Array(8)];
    const { x: got, denoised } = sampler.step(0, { x, modelOutput, noise: noiseOf(0) });
    for (const [i, noise] of noiseOf(0).entries()) expect(got[i]).toBeCloseTo(denoised[i]! + 0.002 * noise, 4);
  });
});
