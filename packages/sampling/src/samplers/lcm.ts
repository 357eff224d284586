import { readBounds } from "../arithmetic/limiter";
import { denoise } from "../arithmetic/preconditioning";
import { type Mixture, predictData } from "../arithmetic/prediction";
import { add, mul, type Values } from "../arithmetic/values";
import { ConfigReader, type SchedulerConfig } from "../config";
import type { SamplerDefinition } from "../definition";
import { refuseOptions, type SamplerOptions } from "../options";
import { makeSampler, type Sampler, type UpdateInput, type UpdateResult } from "../sampler";
import { readAlphas } from "../schedule/alphas";
import { distilledTimesteps } from "../schedule/distilled-timesteps";
import type { SigmaModel } from "../schedule/sigma-model";

const className = "LCMScheduler";
const round = Math.fround;
const root = (value: number) => round(Math.sqrt(value));

/** The defaults of the distilled classes. */
export const distilledBetas = { betaStart: 0.00085, betaEnd: 0.012, betaSchedule: "scaled_linear" } as const;

/** ᾱ as the parts of a sample, in float32. */
export function mixtureOf(alpha: number): Mixture {
  return { signal: root(alpha), noise: root(round(1 - alpha)) };
}

/**
 * The weights of sample and prediction that make the consistency function the identity at timestep 0, in float32.
 * Source: https://arxiv.org/abs/2310.04378, appendix; σ_data is 0.5.
 */
export function boundary(timestep: number, scaling: number): { skip: number; output: number } {
  const dataVariance = 0.25;
  const scaled = round(timestep * round(scaling));
  const total = round(round(scaled * scaled) + dataVariance);
  return { skip: round(round(1 / total) * dataVariance), output: round(scaled / root(total)) };
}

/** Fresh noise on a prediction, unless the step is the last. */
function renoise(data: Values, to: Mixture, noise: Values, last: boolean): Values {
  return last ? data : add(mul(to.signal, data), mul(to.noise, noise));
}

/** Noise levels of the visited timesteps, then 0. */
export function sigmasOf(mixtures: readonly Mixture[]): Float32Array {
  return Float32Array.from([...mixtures.map(({ signal, noise }) => noise / signal), 0]);
}

/**
 * Multistep consistency sampling: predict the data, add fresh noise of the next level, again. Source:
 * huggingface/diffusers@58eb52c schedulers/scheduling_lcm.py `step`.
 */
function lcmFromConfig(config: SchedulerConfig, options: SamplerOptions): Sampler {
  refuseOptions(options, className, ["sigmas"]);
  const reader = new ConfigReader(config, className);
  const alphas = readAlphas(reader, distilledBetas);
  const { timesteps, steps } = distilledTimesteps(reader, options, false);
  const mixtures = timesteps.map((timestep) => mixtureOf(alphas[timestep]!));
  const scaling = reader.number("timestep_scaling", 10);
  const kind = reader.choice("prediction_type", ["epsilon", "sample", "v_prediction"], "epsilon");
  const bounds = readBounds(reader, options, false);

  function update({ call, x, output, noise, limit }: UpdateInput<null>): UpdateResult<null> {
    const data = limit(predictData(kind, mixtures[call]!, output, x));
    const weights = boundary(timesteps[call]!, scaling);
    const denoised = add(mul(weights.output, data), mul(weights.skip, x));
    const next = mixtures[call + 1] ?? mixtures[call]!;
    return { x: renoise(denoised, next, noise, call === steps - 1), denoised, state: null };
  }

  return makeSampler({
    ...{ className, timesteps, update },
    sigmas: sigmasOf(mixtures),
    initNoiseSigma: 1,
    dtype: options.dtype ?? "float32",
    initialState: null,
    bounds,
    noiseAt: (call) => call !== steps - 1,
    mixtureAt: (call) => mixtures[call]!,
  });
}

/**
 * Consistency sampling on samples data + σ·noise. An EDM network's own skip weight is the boundary condition, so there
 * is no further one.
 */
function lcmOverModel(model: SigmaModel, options: SamplerOptions): Sampler {
  const { sigmas, timesteps, initNoiseSigma } = model;

  function update({ call, x, output, noise }: UpdateInput<null>): UpdateResult<null> {
    const denoised = denoise(model.precondition(sigmas[call]!), output, x);
    const to = { signal: 1, noise: sigmas[call + 1]! };
    return { x: renoise(denoised, to, noise, to.noise === 0), denoised, state: null };
  }

  return makeSampler({
    ...{ className, sigmas, timesteps, initNoiseSigma, update },
    dtype: options.dtype ?? "float32",
    initialState: null,
    inputScaleAt: (call) => model.precondition(sigmas[call]!).input,
    noiseAt: (call) => sigmas[call + 1]! > 0,
  });
}

/** `lcm`: LCMScheduler, for consistency-distilled models. */
export const lcm: SamplerDefinition = {
  name: "lcm",
  className,
  fromConfig: lcmFromConfig,
  overModel: lcmOverModel,
};
