import { denoise, type Preconditioning } from "../arithmetic/preconditioning";
import { add, div, mul, sub, type Values } from "../arithmetic/values";
import type { SamplerOptions } from "../options";
import { makeSampler, type Sampler, type UpdateInput, type UpdateResult } from "../sampler";
import type { SigmaModel } from "../schedule/sigma-model";

/** One step: from the noise level `sigma` to `next`, with a second call of the model at `mid`. */
export interface TwoStageStep {
  sigma: number;
  mid: number;
  next: number;
}

/** What a stage works with: the step, the sample that it began with, and the prediction of the clean sample at the stage's level. */
export interface Stage {
  step: TwoStageStep;
  start: Values;
  /** The sample at the stage's own level: `start` in the first one. */
  x: Values;
  denoised: Values;
  /** Empty where the stage draws none. */
  noise: Values;
  /** Noise of the first stage, where the rule draws some there. */
  firstNoise?: Values | undefined;
}

/** An update rule of two calls a step. */
export interface TwoStageRule {
  className: string;
  /** Returns the noise level of a step's second call. */
  midOf(sigma: number, next: number): number;
  /** Goes from the step's start to its middle. */
  first(stage: Stage): Values;
  /** Goes from the step's start to its end. */
  second(stage: Stage): Values;
  /** Which stages draw noise. */
  draws: { first: boolean; second: boolean };
}

/** A call of the model: its step, and where in it. */
interface Call extends TwoStageStep {
  index: number;
  stage: "first" | "second" | "only";
}

/** What the first stage leaves for the second; nothing between steps. */
interface TwoStageState {
  start?: Values;
  firstNoise?: Values;
}

/** The calls of all steps. A step to 0 has one, and so has one whose middle is 0: a fall so deep that float32 leaves an ancestral step
 *  nothing but new noise. No model knows the level 0. */
function callsOf({ sigmas, timesteps }: SigmaModel, midOf: TwoStageRule["midOf"]): Call[] {
  return timesteps.flatMap((_, index): Call[] => {
    const [sigma, next] = [sigmas[index]!, sigmas[index + 1]!];
    const step = { index, sigma, next, mid: next === 0 ? 0 : Math.fround(midOf(sigma, next)) };
    if (step.mid === 0) return [{ ...step, stage: "only" }];
    return [
      { ...step, stage: "first" },
      { ...step, stage: "second" },
    ];
  });
}

const levelOf = ({ stage, sigma, mid }: Call): number => (stage === "second" ? mid : sigma);

/** Returns the slope of the probability-flow ODE, (x − denoised) / σ. */
export function slopeAt(sigma: number, x: Values, denoised: Values): Values {
  return div(sub(x, denoised), sigma);
}

/** Makes the sampler of a rule; a step of one call is Euler's, with the rule's noise behind it where it does not end in 0. */
export function twoStageSampler(model: SigmaModel, options: SamplerOptions, rule: TwoStageRule): Sampler {
  const calls = callsOf(model, rule.midOf);
  const preconditioningAt = (call: number): Preconditioning => model.precondition(levelOf(calls[call]!));
  const draws = ({ stage, next }: Call) => (stage === "only" ? next > 0 && rule.draws.second : rule.draws[stage]);

  function update({ call, x, output, noise, state }: UpdateInput<TwoStageState>): UpdateResult<TwoStageState> {
    const at = calls[call]!;
    const denoised = denoise(preconditioningAt(call), output, x);
    if (at.stage === "only" && at.next > 0) {
      const stage = { step: { ...at, mid: at.sigma }, start: x, x, denoised, noise };
      return { x: rule.second(stage), denoised, state: {} };
    }
    if (at.stage === "only") return { x: add(x, mul(slopeAt(at.sigma, x, denoised), -at.sigma)), denoised, state: {} };
    if (at.stage === "second") {
      const stage = { step: at, start: state.start!, x, denoised, noise, firstNoise: state.firstNoise };
      return { x: rule.second(stage), denoised, state: {} };
    }
    const next = rule.first({ step: at, start: x, x, denoised, noise });
    return { x: next, denoised, state: { start: x, ...(rule.draws.first && { firstNoise: noise }) } };
  }

  return makeSampler({
    ...{ className: rule.className, update, initNoiseSigma: model.initNoiseSigma },
    sigmas: Float32Array.from([...calls.map(levelOf), model.sigmas[model.timesteps.length]!]),
    timesteps: calls.map((at) => (at.stage === "second" ? model.timestepAt(at.mid) : model.timesteps[at.index]!)),
    dtype: options.dtype ?? "float32",
    initialState: {},
    inputScaleAt: (call) => preconditioningAt(call).input,
    stepIndexOf: (call) => calls[call]!.index,
    noiseAt: (call) => draws(calls[call]!),
  });
}

/** Returns x moved towards the prediction until the noise level `to`: (to/σ)·x + (1 − to/σ)·denoised. */
export function shrinkTowards(denoised: Values, x: Values, sigma: number, to: number): Values {
  const kept = Math.fround(to / sigma);
  return add(mul(kept, x), mul(Math.fround(1 - kept), denoised));
}
