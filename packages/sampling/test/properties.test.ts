import { VdError } from "@vd/kernels-native";
import { CpuGenerator } from "@vd/tensor";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { svdConfig } from "../../../tooling/testing/svd-sampling";
import { createSampler, samplerNames } from "../src/create-sampler";
import type { Sampler, SamplerState } from "../src/sampler";

const run = { seed: 41, numRuns: 250 };
const length = 6;

/** Runs a sampler on tanh outputs, as bounded as a network's; returns every sample. */
function trajectory(sampler: Sampler): Float32Array[] {
  const generator = new CpuGenerator(1);
  let x: Float32Array = generator.randn(length).map((value) => value * sampler.initNoiseSigma);
  let state: SamplerState | undefined;
  const samples = [x];
  for (let call = 0; call < sampler.numModelCalls; call++) {
    const modelOutput = sampler.scaleModelInput(x, call).map((value) => Math.tanh(value));
    const noise = sampler.noiseDrawsAt(call) ? generator.randn(length) : undefined;
    ({ x, state } = sampler.step(call, { x, modelOutput, noise, state }));
    samples.push(x);
  }
  return samples;
}

const betas = {
  beta_schedule: fc.constantFrom("linear", "scaled_linear", "squaredcos_cap_v2"),
  num_train_timesteps: fc.constantFrom(1000, 500, 100),
  timestep_spacing: fc.constantFrom("linspace", "leading", "trailing"),
  steps_offset: fc.constantFrom(0, 1),
};
const spacings = [{}, { use_karras_sigmas: true }, { use_exponential_sigmas: true }, { use_beta_sigmas: true }];
const prediction_type = fc.constantFrom("epsilon", "v_prediction", "sample");
const final_sigmas_type = fc.constantFrom("zero", "sigma_min");

const configs: Record<string, fc.Arbitrary<object>> = {
  EulerDiscreteScheduler: fc.record({ ...betas, prediction_type, final_sigmas_type }),
  EulerAncestralDiscreteScheduler: fc.record({
    ...betas,
    prediction_type: fc.constantFrom("epsilon", "v_prediction"),
  }),
  HeunDiscreteScheduler: fc.record({ ...betas, prediction_type, clip_sample: fc.boolean() }),
  DDIMScheduler: fc.record({ ...betas, prediction_type, set_alpha_to_one: fc.boolean(), thresholding: fc.boolean() }),
  DPMSolverMultistepScheduler: fc.record({
    ...betas,
    prediction_type,
    final_sigmas_type,
    algorithm_type: fc.constantFrom("dpmsolver++", "sde-dpmsolver++"),
    solver_order: fc.constantFrom(1, 2, 3),
    solver_type: fc.constantFrom("midpoint", "heun"),
  }),
  UniPCMultistepScheduler: fc.record({ ...betas, prediction_type, solver_order: fc.constantFrom(1, 2, 3) }),
  LCMScheduler: fc.record({ prediction_type, original_inference_steps: fc.constant(100) }),
  TCDScheduler: fc.record({ prediction_type, original_inference_steps: fc.constant(100) }),
  EDMEulerScheduler: fc.record({
    prediction_type: fc.constantFrom("epsilon", "v_prediction"),
    sigma_schedule: fc.constantFrom("karras", "exponential"),
    sigma_data: fc.constantFrom(0.5, 1),
  }),
};
const steps = fc.integer({ min: 1, max: 60 });
const dtype = fc.constantFrom("float32" as const, "float16" as const);

describe.each(Object.keys(configs))("%s", (className) => {
  it("has falling noise levels, one timestep per call, and finite samples, for any config and steps", () => {
    fc.assert(
      fc.property(configs[className]!, fc.constantFrom(...spacings), steps, dtype, (config, spacing, count, type) => {
        // With its own last level repeated, a respaced DPM-Solver divides by a step of length 0, as the reference does.
        const last = Object.keys(spacing).length > 0 ? { final_sigmas_type: "zero" } : {};
        const scheduler = { ...config, ...spacing, ...last, _class_name: className };
        const sampler = createSampler(scheduler, { steps: count, dtype: type });
        expect(sampler.timesteps).toHaveLength(sampler.numModelCalls);
        expect(sampler.sigmas.length).toBe(sampler.numModelCalls + 1);
        // "trailing" may make one more: numpy.arange rounds its length up.
        expect([count, count + 1]).toContain(sampler.numSteps);
        const levels = sampler.sigmas.slice(0, sampler.numModelCalls);
        expect(levels.every((level, i) => i === 0 || level <= levels[i - 1]!)).toBe(true);
        const samples = trajectory(sampler);
        if (type === "float32") expect(samples.every((sample) => sample.every(Number.isFinite))).toBe(true);
        expect(samples.every((sample) => sample.length === length)).toBe(true);
      }),
      run,
    );
  });
});

describe("every sampler on SVD", () => {
  it("is finite, and the same twice, for any number of steps", () => {
    fc.assert(
      fc.property(fc.constantFrom(...samplerNames), steps, dtype, (name, count, type) => {
        const sampler = createSampler(svdConfig, { name, steps: count, dtype: type });
        const samples = trajectory(sampler);
        expect(samples.at(-1)!.every(Number.isFinite)).toBe(true);
        expect(trajectory(sampler)).toEqual(samples);
        expect(sampler.stepIndexOf(sampler.numModelCalls - 1)).toBe(count - 1);
      }),
      run,
    );
  });

  it("changes nothing that it is given", () => {
    for (const name of samplerNames) {
      const sampler = createSampler(svdConfig, { name, steps: 3 });
      const input = () => ({ x: Float32Array.of(3, -2), modelOutput: Float32Array.of(0.3, 0.1) });
      const noise = Float32Array.of(1, -1);
      const [kept, given] = [input(), input()];
      const first = sampler.step(0, { ...given, noise });
      const second = sampler.step(1, { ...given, noise, state: first.state });
      expect(given).toEqual(kept);
      // A state may be used again: nothing in it changed.
      expect(sampler.step(1, { ...given, noise, state: first.state })).toEqual(second);
    }
  });
});

describe("what a user gets wrong", () => {
  const messageOf = (act: () => unknown): string => {
    try {
      act();
    } catch (error) {
      if (error instanceof VdError) return error.message;
    }
    return "nothing was thrown";
  };

  it.each([
    [{}, {}, "[steps] expected the number of steps, or sigmas, or timesteps, got none of them"],
    [{}, { steps: 0 }, "[steps] expected an integer in 1…10000, got 0"],
    [{}, { steps: 5, sigmas: [3, 1, 0] }, "[steps] expected 2, as many as the given sigmas make, got 5"],
    [{}, { sigmas: [3, 4, 0] }, "[sigmas[1]] expected at most 3, got 4"],
    [{}, { timesteps: [3, 4] }, "[EulerDiscreteScheduler] expected no custom timesteps, got [3,4]"],
    [{ sigma_min: "low" }, { steps: 2 }, 'EulerDiscreteScheduler.sigma_min] expected a number, got "low"'],
    [{ beta_schedule: "cosine" }, { steps: 2 }, "expected one of linear, scaled_linear, squaredcos_cap_v2"],
    [{ use_beta_sigmas: true }, { steps: 2 }, "got use_karras_sigmas and use_beta_sigmas"],
    [{ num_train_timesteps: 0 }, { steps: 2 }, "expected an integer in 1…10000, got 0"],
    [{ _class_name: "TCDScheduler" }, { steps: 2, eta: 1.5 }, "[eta] expected a number in 0…1, got 1.5"],
    [{ _class_name: "LCMScheduler" }, { steps: 51 }, "at most the 50 steps of the distillation"],
    [{ _class_name: "DDIMScheduler" }, { steps: 1001 }, "at most 1000 steps"],
    [
      { _class_name: "UniPCMultistepScheduler", solver_p: { a: 1 }, use_karras_sigmas: false },
      { steps: 4 },
      "expected the key unset",
    ],
    [
      { _class_name: "DPMSolverMultistepScheduler", algorithm_type: "dpmsolver" },
      { steps: 4 },
      "expected sigma_min with algorithm_type dpmsolver, got zero",
    ],
    [
      {
        ...{ _class_name: "DPMSolverMultistepScheduler", algorithm_type: "sde-dpmsolver", solver_order: 3 },
        final_sigmas_type: "sigma_min",
      },
      { steps: 20 },
      "expected 1 or 2 with algorithm_type sde-dpmsolver, got 3",
    ],
  ])("%j with %j", (change, options, message) => {
    expect(messageOf(() => createSampler({ ...svdConfig, ...change }, options))).toContain(message);
  });

  it("in a step", () => {
    const sampler = createSampler(svdConfig, { name: "dpmpp_2m", steps: 4 });
    const x = new Float32Array(4);
    expect(messageOf(() => sampler.step(0, { x, modelOutput: new Float32Array(3) }))).toContain(
      "[step modelOutput] expected 4 values, as x has, got 3",
    );
    expect(messageOf(() => sampler.step(1, { x, modelOutput: x }))).toContain(
      "the state that the call before returned",
    );
    expect(messageOf(() => sampler.step(4, { x, modelOutput: x }))).toContain("a call in 0…3, got 4");
    const ancestral = createSampler(svdConfig, { name: "euler_a", steps: 4 });
    expect(messageOf(() => ancestral.step(0, { x, modelOutput: x }))).toContain("[step noise] expected 4 values");
  });
});
