import { denoise } from "../arithmetic/preconditioning";
import { add, mul, sub, type Values } from "../arithmetic/values";
import { numberOption, type SamplerOptions } from "../options";
import { makeSampler, type Sampler, type UpdateInput, type UpdateResult } from "../sampler";
import { requireFalling, type SigmaModel } from "../schedule/sigma-model";

/** What a correction of a higher order works with. */
export interface SdeHistory {
  /** Predictions of the clean sample, newest first. */
  predictions: readonly Values[];
  /** Gains of λ = −ln σ: of this step, then of the ones before, newest first. */
  gains: readonly number[];
  /** (1 + η)·h, over which the exponential is integrated. */
  stretched: number;
}

/** A multistep rule for the reverse SDE. */
export interface SdeRule {
  className: string;
  /** Predictions that a step uses. */
  order: number;
  /** Returns the terms of higher order, or undefined where there is no history yet. */
  correction(history: SdeHistory): Values | undefined;
}

interface SdeState {
  predictions: readonly Values[];
}

/**
 * Makes a sampler that integrates the reverse SDE exactly but for the prediction, which it extrapolates from the last ones; the step
 * to 0 is the prediction itself. Source: https://arxiv.org/abs/2211.01095, section 5 and appendix A;
 * crowsonkb/k-diffusion@4601bf0 k_diffusion/sampling.py.
 */
export function sdeMultistepSampler(model: SigmaModel, options: SamplerOptions, rule: SdeRule): Sampler {
  const { sigmas, timesteps, initNoiseSigma } = model;
  const eta = numberOption(options.eta, "eta", 1);
  const deviation = numberOption(options.sNoise, "sNoise", 1);
  const gainAt = (call: number) => Math.log(sigmas[call]!) - Math.log(sigmas[call + 1]!);
  const draws = (call: number) => eta > 0 && sigmas[call + 1]! > 0;

  function update({ call, x, output, noise, state }: UpdateInput<SdeState>): UpdateResult<SdeState> {
    const denoised = denoise(model.precondition(sigmas[call]!), output, x);
    const predictions = [denoised, ...state.predictions].slice(0, rule.order);
    const next = { predictions };
    if (sigmas[call + 1] === 0) return { x: denoised, denoised, state: next };
    const gains = predictions.map((_, i) => gainAt(call - i));
    const stretched = gains[0]! * (1 + eta);
    const moved = add(mul(Math.exp(-stretched), x), mul(-Math.expm1(-stretched), denoised));
    // A step of no length, which a table's repeated last level makes, moves nothing.
    const correction = stretched === 0 ? undefined : rule.correction({ predictions, gains, stretched });
    const corrected = correction ? add(moved, correction) : moved;
    if (!draws(call)) return { x: corrected, denoised, state: next };
    const fresh = sigmas[call + 1]! * Math.sqrt(-Math.expm1(-2 * gains[0]! * eta)) * deviation;
    return { x: add(corrected, mul(noise, fresh)), denoised, state: next };
  }

  return makeSampler({
    ...{ className: rule.className, sigmas, timesteps, initNoiseSigma, update },
    dtype: options.dtype ?? "float32",
    initialState: { predictions: [] },
    inputScaleAt: (call) => model.precondition(sigmas[call]!).input,
    noiseAt: draws,
  });
}

/**
 * As {@link sdeMultistepSampler} for noise levels that a caller chose.
 *
 * @throws VdError `attr` for levels that do not fall
 */
export function sdeMultistepOverModel(model: SigmaModel, options: SamplerOptions, rule: SdeRule): Sampler {
  requireFalling(model.sigmas, rule.className);
  return sdeMultistepSampler(model, options, rule);
}

/** Returns the slope of the predictions over λ between the newest two of `predictions`, `gain` apart, times the step's `h`. */
export function scaledSlope(newer: Values, older: Values, h: number, gain: number): Values {
  return mul(h / gain, sub(newer, older));
}
