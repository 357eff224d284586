import { denoise } from "../arithmetic/preconditioning";
import { type Mixture, predictData, predictNoise } from "../arithmetic/prediction";
import { add, div, mul, sub, type Values } from "../arithmetic/values";
import { ConfigReader, type SchedulerConfig } from "../config";
import type { SamplerDefinition } from "../definition";
import { numberOption, refuseOptions, type SamplerOptions } from "../options";
import { makeSampler, type Sampler, type UpdateInput, type UpdateResult } from "../sampler";
import { readAlphas } from "../schedule/alphas";
import { distilledTimesteps } from "../schedule/distilled-timesteps";
import type { SigmaModel } from "../schedule/sigma-model";
import { distilledBetas, mixtureOf, sigmasOf } from "./lcm";

const className = "TCDScheduler";
const round = Math.fround;
const root = (value: number) => round(Math.sqrt(value));
const defaultEta = 0.3;

/** One step as data: down to `middle` along the trajectory, then up to the next level with fresh noise. */
interface TcdStep {
  from: Mixture;
  middle: Mixture;
  /** What the raise multiplies the sample and the fresh noise by. */
  raise: Mixture;
}

function raiseBetween(alphaMiddle: number, alphaNext: number): Mixture {
  const ratio = round(alphaNext / alphaMiddle);
  return { signal: root(ratio), noise: root(round(1 - ratio)) };
}

/** The timestep that `eta` goes below the next one; the product rounds to float32, as torch's does. */
function middleTimestep(next: number, eta: number): number {
  return Math.floor(round(round(1 - eta) * next));
}

function raised(step: TcdStep, lower: Values, noise: Values, draws: boolean): Values {
  return draws ? add(mul(step.raise.signal, lower), mul(step.raise.noise, noise)) : lower;
}

/**
 * Trajectory consistency sampling; eta 0 is deterministic. The reference never applies `clip_sample` or `thresholding`
 * here. Source: https://arxiv.org/abs/2402.19159; huggingface/diffusers@58eb52c schedulers/scheduling_tcd.py `step`.
 */
function tcdFromConfig(config: SchedulerConfig, options: SamplerOptions): Sampler {
  refuseOptions(options, className, ["sigmas"]);
  const reader = new ConfigReader(config, className);
  const alphas = readAlphas(reader, distilledBetas);
  const { timesteps, steps } = distilledTimesteps(reader, options, true);
  const eta = numberOption(options.eta, "eta", defaultEta, 0, 1);
  const kind = reader.choice("prediction_type", ["epsilon", "sample", "v_prediction"], "epsilon");
  const schedule = timesteps.map((timestep, call): TcdStep => {
    const next = timesteps[call + 1] ?? 0;
    const alphaMiddle = alphas[middleTimestep(next, eta)]!;
    return {
      from: mixtureOf(alphas[timestep]!),
      middle: mixtureOf(alphaMiddle),
      raise: raiseBetween(alphaMiddle, alphas[next]!),
    };
  });
  const drawsAt = (call: number) => eta > 0 && call !== steps - 1;

  function update({ call, x, output, noise }: UpdateInput<null>): UpdateResult<null> {
    const step = schedule[call]!;
    const data = predictData(kind, step.from, output, x);
    const epsilon = predictNoise(kind, step.from, output, x);
    const lower = add(mul(step.middle.signal, data), mul(step.middle.noise, epsilon));
    return { x: raised(step, lower, noise, drawsAt(call)), denoised: data, state: null };
  }

  return makeSampler({
    ...{ className, timesteps, update },
    sigmas: sigmasOf(schedule.map(({ from }) => from)),
    initNoiseSigma: 1,
    dtype: options.dtype ?? "float32",
    initialState: null,
    noiseAt: drawsAt,
    mixtureAt: (call) => schedule[call]!.from,
  });
}

/** The noise level a fraction 1 − eta of the way from 0 to `sigma`, in the model's own pace: linear in σ^(1/7). */
function middleSigma(sigma: number, eta: number): number {
  return round(sigma * (1 - eta) ** 7);
}

/** Trajectory consistency sampling on samples data + σ·noise. */
function tcdOverModel(model: SigmaModel, options: SamplerOptions): Sampler {
  const { sigmas, timesteps, initNoiseSigma } = model;
  const eta = numberOption(options.eta, "eta", defaultEta, 0, 1);
  const drawsAt = (call: number) => eta > 0 && sigmas[call + 1]! > 0;

  function update({ call, x, output, noise }: UpdateInput<null>): UpdateResult<null> {
    const sigma = sigmas[call]!;
    const next = sigmas[call + 1]!;
    const middle = middleSigma(next, eta);
    const data = denoise(model.precondition(sigma), output, x);
    const lower = add(data, mul(div(sub(x, data), sigma), middle));
    const raise = { signal: 1, noise: root(round(next * next) - round(middle * middle)) };
    const step = { from: { signal: 1, noise: sigma }, middle: { signal: 1, noise: middle }, raise };
    return { x: raised(step, lower, noise, drawsAt(call)), denoised: data, state: null };
  }

  return makeSampler({
    ...{ className, sigmas, timesteps, initNoiseSigma, update },
    dtype: options.dtype ?? "float32",
    initialState: null,
    inputScaleAt: (call) => model.precondition(sigmas[call]!).input,
    noiseAt: drawsAt,
  });
}

/** `tcd`: TCDScheduler, for trajectory-consistency-distilled models. */
export const tcd: SamplerDefinition = {
  name: "tcd",
  className,
  fromConfig: tcdFromConfig,
  overModel: tcdOverModel,
};
