import { isVdError } from "@vd/kernels-native";
import { CpuGenerator } from "@vd/tensor";
import { describe, expect, it } from "vitest";
import { svdConfig } from "../../../../tooling/testing/svd-sampling";
import type { SchedulerConfig } from "../../src/config";
import { createSampler } from "../../src/create-sampler";
import { linearSteps } from "../../src/linear-steps";

/** The settings with which AnimateLCM-SVD is published. */
const published: SchedulerConfig = {
  _class_name: "AnimateLCMSVDStochasticIterativeScheduler",
  ...{ num_train_timesteps: 40, sigma_min: 0.002, sigma_max: 700, sigma_data: 1, s_noise: 1, rho: 7 },
  clip_denoised: false,
};

/** Numbers that a network might say, and draw. */
const drawn = (seed: number) => new CpuGenerator(seed).randn(8);

/**
 * The method in float64, from the papers' formulas alone: levels (σ_max^⅐ + r·(σ_min^⅐ − σ_max^⅐))^7 at r = i·⌊N/n⌋/(N−1)
 * (https://arxiv.org/abs/2206.00364 eq. 5), D = σ_d²/(σ²+σ_d²)·x − σ·σ_d/√(σ²+σ_d²)·F, x' = D + σ'·s·z
 * (https://arxiv.org/abs/2303.01469 algorithm 1).
 */
function reference(config: SchedulerConfig, steps: number, outputs: Float32Array[], noises: Float32Array[]) {
  const number = (key: string) => config[key] as number;
  const [n, low, high, rho] = ["num_train_timesteps", "sigma_min", "sigma_max", "rho"].map(number) as [
    number,
    number,
    number,
    number,
  ];
  const sigmas: number[] = [];
  for (let i = 0; i < steps; i++) {
    const r = (i * Math.floor(n / steps)) / (n - 1);
    sigmas.push(((1 - r) * high ** (1 / rho) + r * low ** (1 / rho)) ** rho);
  }
  sigmas.push(0);
  let x = Array.from(drawn(0), (value) => value * Math.hypot(high, 1));
  const samples = [x];
  for (let i = 0; i < steps; i++) {
    const [sigma, data] = [sigmas[i]!, number("sigma_data")];
    const total = sigma ** 2 + data ** 2;
    const clean = x.map(
      (value, k) => (data ** 2 / total) * value - ((sigma * data) / Math.sqrt(total)) * outputs[i]![k]!,
    );
    const kept = config.clip_denoised ? clean.map((value) => Math.max(-1, Math.min(1, value))) : clean;
    x = kept.map((value, k) => value + sigmas[i + 1]! * number("s_noise") * noises[i]![k]!);
    samples.push(x);
  }
  return { sigmas, samples };
}

describe("animatelcm", () => {
  it.each<[string, SchedulerConfig, number]>([
    ["as it is published, four steps", published, 4],
    ["as it is published, one step", published, 1],
    ["as it is published, seven steps, which do not divide 40", published, 7],
    [
      "of other data, clipped, with more noise",
      { ...published, sigma_data: 0.5, clip_denoised: true, s_noise: 1.01, sigma_max: 80 },
      6,
    ],
  ])("%s, is what the papers' formulas say", (_, config, steps) => {
    const sampler = createSampler(config, { steps });
    const [outputs, noises] = [1, 101].map((seed) => Array.from({ length: steps }, (_, i) => drawn(seed + i))) as [
      Float32Array[],
      Float32Array[],
    ];
    const wanted = reference(config, steps, outputs, noises);
    wanted.sigmas.forEach((sigma, i) => {
      expect(Math.abs(sampler.sigmas[i]! - sigma)).toBeLessThanOrEqual(1e-6 * sigma);
    });
    wanted.sigmas.slice(0, -1).forEach((sigma, i) => {
      expect(sampler.timesteps[i]).toBeCloseTo(0.25 * Math.log(sigma), 6);
    });
    let x: Float32Array = drawn(0).map((value) => value * sampler.initNoiseSigma);
    for (let call = 0; call < steps; call++) {
      const sigma = wanted.sigmas[call]!;
      expect(sampler.inputScale(call)).toBeCloseTo(1 / Math.hypot(sigma, config.sigma_data as number), 6);
      expect(sampler.noiseDrawsAt(call)).toBe(call < steps - 1);
      x = sampler.step(call, { x, modelOutput: outputs[call]!, noise: noises[call]! }).x;
      const scale = Math.max(1, wanted.sigmas[call + 1]!);
      x.forEach((value, k) => {
        expect(Math.abs(value - wanted.samples[call + 1]![k]!)).toBeLessThan(5e-6 * scale);
      });
    }
  });

  it("takes the levels that the published class prints for four steps", () => {
    // (700^(1/7) + 10·i/39·(0.002^(1/7) − 700^(1/7)))^7 for i = 0…3, to six digits.
    const sigmas = createSampler(published, { steps: 4 }).sigmas;
    expect([...sigmas].map((sigma) => Number(sigma.toPrecision(6)))).toEqual([700, 128.564, 13.6784, 0.496878, 0]);
  });

  it("on SVD's own scheduler visits the same levels, not ones that end where nothing is left to do", () => {
    const [own, over] = [
      createSampler(published, { steps: 4 }),
      createSampler(svdConfig, { name: "animatelcm", steps: 4 }),
    ];
    own.sigmas.forEach((sigma, i) => {
      expect(over.sigmas[i]! / (sigma || 1)).toBeCloseTo(sigma && 1, 5);
    });
    expect(over.sigmas[3]).toBeGreaterThan(100 * createSampler(svdConfig, { name: "lcm", steps: 4 }).sigmas[3]!);
  });

  it("lends its levels to lcm and tcd; lcm takes the same steps", () => {
    const [own, lcm, tcd] = ["animatelcm", "lcm", "tcd"].map((name) => createSampler(published, { name, steps: 4 }));
    expect(lcm!.sigmas).toEqual(own!.sigmas);
    expect(tcd!.sigmas).toEqual(own!.sigmas);
    const [x, modelOutput, noise] = [drawn(1), drawn(2), drawn(3)];
    const [a, b] = [own!.step(1, { x, modelOutput, noise }), lcm!.step(1, { x, modelOutput, noise })];
    a.x.forEach((value, i) => {
      expect(value).toBeCloseTo(b.x[i]!, 4);
    });
  });

  it("steps on a device, and refuses more steps than the distillation had", () => {
    expect(linearSteps(createSampler(published, { steps: 4 }))?.numHistory).toBe(0);
    expect(linearSteps(createSampler({ ...published, clip_denoised: true }, { steps: 4 }))?.bounds).toEqual({
      kind: "clip",
      range: 1,
    });
    let message = "";
    try {
      createSampler(published, { steps: 41 });
    } catch (error) {
      message = isVdError(error) ? error.message : "";
    }
    expect(message).toBe("[steps] expected at most the 40 steps of the distillation, got 41");
  });
});
