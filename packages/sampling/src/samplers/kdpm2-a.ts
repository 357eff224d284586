import { add, mul } from "../arithmetic/values";
import { ConfigReader } from "../config";
import type { SamplerDefinition } from "../definition";
import type { SamplerOptions } from "../options";
import type { Sampler } from "../sampler";
import { kDiffusionBetas } from "../schedule/alphas";
import type { SigmaModel } from "../schedule/sigma-model";
import { type SpacedClass, spacedModel } from "../schedule/spaced-model";
import { ancestralSplit } from "../solvers/ancestral-split";
import { slopeAt, twoStageSampler } from "../solvers/two-stage";
import { geometricMean } from "./kdpm2";

const className = "KDPM2AncestralDiscreteScheduler";
const round = Math.fround;

const kdpm2AncestralClass: SpacedClass = {
  className,
  betas: kDiffusionBetas,
  predictions: ["epsilon", "v_prediction"],
  roundsKarras: true,
};

/**
 * Ancestral sampling with steps of DPM-Solver-2: below the next level by the midpoint method, then up to it with fresh noise.
 * Source: huggingface/diffusers@58eb52c schedulers/scheduling_k_dpm_2_ancestral_discrete.py `step`.
 */
function kdpm2AncestralSampler(model: SigmaModel, options: SamplerOptions): Sampler {
  return twoStageSampler(model, options, {
    className,
    midOf: (sigma, next) => geometricMean(sigma, ancestralSplit(sigma, next).down),
    draws: { first: false, second: true },
    first: ({ step: { sigma, mid }, x, denoised }) => add(x, mul(slopeAt(sigma, x, denoised), round(mid - sigma))),
    second({ step: { sigma, mid, next }, start, x, denoised, noise }) {
      const { down, up } = ancestralSplit(sigma, next);
      return add(add(start, mul(slopeAt(mid, x, denoised), round(down - sigma))), mul(noise, up));
    },
  });
}

/** `kdpm2_a`: KDPM2AncestralDiscreteScheduler; two model calls per step. */
export const kdpm2A: SamplerDefinition = {
  name: "kdpm2_a",
  className,
  fromConfig: (config, options) =>
    kdpm2AncestralSampler(spacedModel(new ConfigReader(config, className), options, kdpm2AncestralClass), options),
  overModel: kdpm2AncestralSampler,
};
