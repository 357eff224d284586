import { add, mul } from "../arithmetic/values";
import { ConfigReader } from "../config";
import type { SamplerDefinition } from "../definition";
import type { SamplerOptions } from "../options";
import type { Sampler } from "../sampler";
import { kDiffusionBetas } from "../schedule/alphas";
import type { SigmaModel } from "../schedule/sigma-model";
import { type SpacedClass, spacedModel } from "../schedule/spaced-model";
import { slopeAt, twoStageSampler } from "../solvers/two-stage";

const className = "KDPM2DiscreteScheduler";
const round = Math.fround;

const kdpm2Class: SpacedClass = {
  className,
  betas: kDiffusionBetas,
  predictions: ["epsilon", "v_prediction"],
  roundsKarras: true,
};

/** Returns the geometric mean of two noise levels, by float32 logarithms. */
export function geometricMean(a: number, b: number): number {
  const [from, to] = [round(Math.log(a)), round(Math.log(b))];
  return round(Math.exp(round(from + round(0.5 * round(to - from)))));
}

/**
 * The midpoint method in ln σ, DPM-Solver-2 of https://arxiv.org/abs/2206.00364 as k-diffusion has it: half a step, then the
 * whole step along the slope there. Source: huggingface/diffusers@58eb52c schedulers/scheduling_k_dpm_2_discrete.py `step`.
 */
function kdpm2Sampler(model: SigmaModel, options: SamplerOptions): Sampler {
  return twoStageSampler(model, options, {
    className,
    midOf: geometricMean,
    draws: { first: false, second: false },
    first: ({ step: { sigma, mid }, x, denoised }) => add(x, mul(slopeAt(sigma, x, denoised), round(mid - sigma))),
    second: ({ step: { sigma, mid, next }, start, x, denoised }) =>
      add(start, mul(slopeAt(mid, x, denoised), round(next - sigma))),
  });
}

/** `kdpm2`: KDPM2DiscreteScheduler; two model calls per step. */
export const kdpm2: SamplerDefinition = {
  name: "kdpm2",
  className,
  fromConfig: (config, options) =>
    kdpm2Sampler(spacedModel(new ConfigReader(config, className), options, kdpm2Class), options),
  overModel: kdpm2Sampler,
};
