import { add, mul, type Values } from "../arithmetic/values";
import { ConfigReader } from "../config";
import type { SamplerDefinition } from "../definition";
import { numberOption, type SamplerOptions } from "../options";
import type { Sampler } from "../sampler";
import { kDiffusionBetas } from "../schedule/alphas";
import type { SigmaModel } from "../schedule/sigma-model";
import { type SpacedClass, spacedModel } from "../schedule/spaced-model";
import { ancestralSplit } from "../solvers/ancestral-split";
import { shrinkTowards, type TwoStageStep, twoStageSampler } from "../solvers/two-stage";
import { geometricMean } from "./kdpm2";

const className = "DPMSolverSDEScheduler";

const sdeClass: SpacedClass = { className, betas: kDiffusionBetas, predictions: ["epsilon", "v_prediction"] };

/**
 * Returns the unit noise of a whole step from that of its two parts. Both are increments of one Brownian motion in σ, so that the
 * noise of a step is what its halves add up to, as the reference's Brownian tree has it.
 */
function joinNoise({ sigma, mid, next }: TwoStageStep, first: Values, second: Values): Values {
  const span = sigma - next;
  if (span === 0) return second;
  return add(mul(Math.sqrt((sigma - mid) / span), first), mul(Math.sqrt((mid - next) / span), second));
}

/**
 * DPM-Solver++ (stochastic): both stages go below their level and up again with noise. The reference draws from a Brownian tree
 * with a seed of its own; here the caller's unit noise makes the same motion, one draw for each half of a step. Source:
 * huggingface/diffusers@58eb52c schedulers/scheduling_dpmsolver_sde.py `step`.
 */
function sdeSampler(model: SigmaModel, options: SamplerOptions): Sampler {
  const eta = numberOption(options.eta, "eta", 1, 0, 1);
  const deviation = numberOption(options.sNoise, "sNoise", 1);
  const draws = eta > 0;

  function stage(start: Values, denoised: Values, sigma: number, to: number, noise: Values): Values {
    const { down, up } = ancestralSplit(sigma, to, eta);
    const lower = shrinkTowards(denoised, start, sigma, down);
    return draws ? add(lower, mul(mul(noise, deviation), up)) : lower;
  }

  return twoStageSampler(model, options, {
    className,
    midOf: geometricMean,
    draws: { first: draws, second: draws },
    first: ({ step, x, denoised, noise }) => stage(x, denoised, step.sigma, step.mid, noise),
    second({ step, start, denoised, noise, firstNoise }) {
      const joined = firstNoise ? joinNoise(step, firstNoise, noise) : noise;
      return stage(start, denoised, step.sigma, step.next, joined);
    },
  });
}

/** `dpmpp_sde`: DPMSolverSDEScheduler; two model calls per step, both with noise. */
export const dpmppSde: SamplerDefinition = {
  name: "dpmpp_sde",
  className,
  fromConfig: (config, options) =>
    sdeSampler(spacedModel(new ConfigReader(config, className), options, sdeClass), options),
  overModel: sdeSampler,
};
