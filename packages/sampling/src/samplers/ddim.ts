import { VdError } from "@vd/kernels-native";
import { readBounds } from "../arithmetic/limiter";
import { denoise } from "../arithmetic/preconditioning";
import { type Mixture, noiseOf, predictData, predictNoise } from "../arithmetic/prediction";
import { add, div, mul, sub, type Values } from "../arithmetic/values";
import { ConfigReader, type SchedulerConfig } from "../config";
import type { SamplerDefinition } from "../definition";
import { numberOption, refuseOptions, type SamplerOptions, stepCount } from "../options";
import { makeSampler, type Sampler, type UpdateInput, type UpdateResult } from "../sampler";
import { ddpmBetas, readAlphas } from "../schedule/alphas";
import type { SigmaModel } from "../schedule/sigma-model";
import { checkedTimesteps, integerTimesteps, readTimestepSpacing } from "../schedule/timesteps";
import { ancestralSplit } from "../solvers/ancestral-split";

const className = "DDIMScheduler";
const round = Math.fround;
const root = (value: number) => round(Math.sqrt(value));

/** One step as data: where it comes from, how much of each part it leads to. */
interface DdimStep {
  from: Mixture;
  signal: number;
  /** Factor of the predicted noise. */
  direction: number;
  /** Deviation of the fresh noise. */
  fresh: number;
}

/** Everything that a DDIM config fixes. */
interface DdimSchedule {
  timesteps: readonly number[];
  steps: readonly DdimStep[];
  sigmas: Float32Array;
}

function ddimStep(alpha: number, alphaPrevious: number, eta: number): DdimStep {
  const beta = round(1 - alpha);
  const betaPrevious = round(1 - alphaPrevious);
  const variance = round(round(betaPrevious / beta) * round(1 - round(alpha / alphaPrevious)));
  const fresh = round(round(eta) * root(variance));
  return {
    from: { signal: root(alpha), noise: root(beta) },
    signal: root(alphaPrevious),
    direction: root(round(betaPrevious - round(fresh * fresh))),
    fresh,
  };
}

function scheduleOf(reader: ConfigReader, options: SamplerOptions, eta: number): DdimSchedule {
  const alphas = readAlphas(reader, ddpmBetas);
  const steps = stepCount(options, (count) => count);
  const trained = reader.integer("num_train_timesteps", 1000, 1);
  if (steps > trained) {
    throw new VdError({ code: "attr", where: "steps", expected: `at most ${trained} steps`, got: String(steps) });
  }
  const spacing = readTimestepSpacing(reader, "leading");
  const offset = reader.integer("steps_offset", 0, 0);
  // For some numbers of steps "trailing" ends in −1, which the reference then takes for the noisiest timestep.
  const row = integerTimesteps({ spacing, steps, trained, offset }).filter((timestep) => timestep >= 0);
  const timesteps = checkedTimesteps(row, alphas.length);
  const final = reader.flag("set_alpha_to_one", true) ? 1 : alphas[0]!;
  const stride = Math.floor(trained / steps);
  const alphaAt = (timestep: number) => (timestep >= 0 ? alphas[timestep]! : final);
  const ends = [...timesteps.map((timestep) => alphas[timestep]!), alphaAt(timesteps.at(-1)! - stride)];
  return {
    timesteps,
    steps: timesteps.map((timestep) => ddimStep(alphas[timestep]!, alphaAt(timestep - stride), eta)),
    sigmas: Float32Array.from(ends, (alpha) => Math.sqrt((1 - alpha) / alpha)),
  };
}

/** The sample after a step: data, predicted noise and fresh noise in the amounts that the step says. */
function mix(step: DdimStep, data: Values, epsilon: Values, noise: Values, eta: number): Values {
  const kept = add(mul(step.signal, data), mul(step.direction, epsilon));
  return eta > 0 ? add(kept, mul(step.fresh, noise)) : kept;
}

/**
 * DDIM on a config's own timesteps. Source: https://arxiv.org/abs/2010.02502, equation 12;
 * huggingface/diffusers@58eb52c schedulers/scheduling_ddim.py `step`.
 */
function ddimFromConfig(config: SchedulerConfig, options: SamplerOptions): Sampler {
  refuseOptions(options, className, ["sigmas", "timesteps"]);
  const reader = new ConfigReader(config, className);
  const eta = numberOption(options.eta, "eta", 0);
  const { timesteps, steps, sigmas } = scheduleOf(reader, options, eta);
  const kind = reader.choice("prediction_type", ["epsilon", "sample", "v_prediction"], "epsilon");
  const bounds = readBounds(reader, options, true);

  function update({ call, x, output, noise, limit }: UpdateInput<null>): UpdateResult<null> {
    const step = steps[call]!;
    const epsilon = predictNoise(kind, step.from, output, x);
    const data = limit(predictData(kind, step.from, output, x));
    const direction = options.useClippedModelOutput ? noiseOf(step.from, data, x) : epsilon;
    return { x: mix(step, data, direction, noise, eta), denoised: data, state: null };
  }

  return makeSampler({
    ...{ className, sigmas, timesteps, update },
    initNoiseSigma: 1,
    dtype: options.dtype ?? "float32",
    initialState: null,
    bounds,
    noiseAt: () => eta > 0,
    mixtureAt: (call) => steps[call]!.from,
  });
}

/** DDIM on samples data + σ·noise: without eta it takes Euler's steps, with eta 1 ancestral ones. */
function ddimOverModel(model: SigmaModel, options: SamplerOptions): Sampler {
  const { sigmas, timesteps, initNoiseSigma } = model;
  const eta = numberOption(options.eta, "eta", 0, 0, 1);

  function update({ call, x, output, noise }: UpdateInput<null>): UpdateResult<null> {
    const sigma = sigmas[call]!;
    const next = sigmas[call + 1]!;
    const fresh = round(eta * ancestralSplit(sigma, next).up);
    const direction = root(round(next * next) - round(fresh * fresh));
    const data = denoise(model.precondition(sigma), output, x);
    const step = { from: { signal: 1, noise: sigma }, signal: 1, direction, fresh };
    return { x: mix(step, data, div(sub(x, data), sigma), noise, eta), denoised: data, state: null };
  }

  return makeSampler({
    ...{ className, sigmas, timesteps, initNoiseSigma, update },
    dtype: options.dtype ?? "float32",
    initialState: null,
    inputScaleAt: (call) => model.precondition(sigmas[call]!).input,
    noiseAt: () => eta > 0,
  });
}

/** `ddim`: DDIMScheduler. */
export const ddim: SamplerDefinition = {
  name: "ddim",
  className,
  fromConfig: ddimFromConfig,
  overModel: ddimOverModel,
};
