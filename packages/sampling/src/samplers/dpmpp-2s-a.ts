import { add, mul } from "../arithmetic/values";
import type { SamplerDefinition } from "../definition";
import { numberOption, type SamplerOptions } from "../options";
import type { Sampler } from "../sampler";
import { eulerModel } from "../schedule/euler-model";
import type { SigmaModel } from "../schedule/sigma-model";
import { ancestralSplit } from "../solvers/ancestral-split";
import { shrinkTowards, twoStageSampler } from "../solvers/two-stage";
import { geometricMean } from "./kdpm2";

const className = "sample_dpmpp_2s_ancestral";

/**
 * Ancestral sampling with second-order single steps of DPM-Solver++. Source: https://arxiv.org/abs/2211.01095, algorithm 1;
 * crowsonkb/k-diffusion@4601bf0 k_diffusion/sampling.py `sample_dpmpp_2s_ancestral`.
 */
function dpmpp2sAncestralSampler(model: SigmaModel, options: SamplerOptions): Sampler {
  const eta = numberOption(options.eta, "eta", 1, 0, 1);
  const deviation = numberOption(options.sNoise, "sNoise", 1);
  return twoStageSampler(model, options, {
    className,
    midOf: (sigma, next) => geometricMean(sigma, ancestralSplit(sigma, next, eta).down),
    draws: { first: false, second: eta > 0 },
    first: ({ step: { sigma, mid }, x, denoised }) => shrinkTowards(denoised, x, sigma, mid),
    second({ step: { sigma, next }, start, denoised, noise }) {
      const { down, up } = ancestralSplit(sigma, next, eta);
      const lower = shrinkTowards(denoised, start, sigma, down);
      return eta > 0 ? add(lower, mul(mul(noise, deviation), up)) : lower;
    },
  });
}

/** `dpmpp_2s_a`: k-diffusion's DPM-Solver++(2S) ancestral, over the noise levels of EulerDiscreteScheduler; two model calls per
 *  step. */
export const dpmpp2sA: SamplerDefinition = {
  name: "dpmpp_2s_a",
  className,
  fromConfig: (config, options) => dpmpp2sAncestralSampler(eulerModel(config, options), options),
  overModel: dpmpp2sAncestralSampler,
};
