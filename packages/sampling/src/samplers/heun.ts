import { denoise, type Prediction, preconditioning } from "../arithmetic/preconditioning";
import { add, clamp, div, mul, sub, type Values } from "../arithmetic/values";
import { ConfigReader, type SchedulerConfig } from "../config";
import type { SamplerDefinition } from "../definition";
import { refuseOptions, type SamplerOptions, stepCount } from "../options";
import { makeSampler, type Sampler, type UpdateInput, type UpdateResult } from "../sampler";
import { type BetaDefaults, readAlphas, trainingSigmas } from "../schedule/alphas";
import { interpolate } from "../schedule/ranges";
import { initialDeviation, type SigmaModel, withFinalSigma } from "../schedule/sigma-model";
import { logSigmas, readSigmaSpacing, sigmaToTimestep, spacedSigmas } from "../schedule/sigmas";
import { fractionalTimesteps, readTimestepSpacing } from "../schedule/timesteps";

const className = "HeunDiscreteScheduler";
const round = Math.fround;

const heunBetas: BetaDefaults = {
  betaStart: 0.00085,
  betaEnd: 0.012,
  betaSchedule: "linear",
  schedules: ["linear", "scaled_linear", "squaredcos_cap_v2", "exp"],
  rescalable: false,
};

/**
 * The noise levels of a HeunDiscreteScheduler config, one per step.
 *
 * @throws VdError `attr`
 */
function heunModel(config: SchedulerConfig, options: SamplerOptions): SigmaModel {
  refuseOptions(options, className, ["sigmas"]);
  const reader = new ConfigReader(config, className);
  const respacing = readSigmaSpacing(reader);
  if (respacing !== undefined) refuseOptions(options, className, ["timesteps"]);
  const trained = trainingSigmas(readAlphas(reader, heunBetas));
  const steps = stepCount(options, (count) => count);
  const spacing = readTimestepSpacing(reader, "linspace");
  const request = {
    ...{ spacing, steps },
    trained: reader.integer("num_train_timesteps", 1000, 1),
    offset: reader.integer("steps_offset", 0, 0),
  };
  const row = options.timesteps?.map(Math.fround) ?? fractionalTimesteps(request);
  const own = row.map((timestep) => interpolate(timestep, trained));
  const levels = respacing === undefined ? own : spacedSigmas(respacing, { min: own.at(-1)!, max: own[0]! }, steps);
  const logs = logSigmas(trained);
  const sigmas = withFinalSigma(levels, 0);
  const prediction = reader.choice<Prediction>("prediction_type", ["epsilon", "sample", "v_prediction"], "epsilon");
  return {
    sigmas,
    timesteps: respacing === undefined ? row : levels.map((sigma) => round(sigmaToTimestep(sigma, logs, "float64"))),
    initNoiseSigma: initialDeviation(sigmas, spacing),
    precondition: (sigma) => preconditioning(prediction, sigma),
  };
}

/** What the first half of a step leaves for the second; nothing between steps. */
interface HeunState {
  half?: { start: Values; slope: Values };
}

/** Every value but the first (and, where `lastOnce`, the last) twice: one per model call. */
function perCall(values: readonly number[], lastOnce: boolean): number[] {
  return values.flatMap((value, i) => (i === 0 || (lastOnce && i === values.length - 1) ? [value] : [value, value]));
}

/**
 * Heun's method: a step is Euler's (even calls) and then the mean of both slopes (odd calls); the last step, to 0, is
 * Euler's alone. `clipRange` limits the prediction. The sample keeps the latents' dtype. Source:
 * huggingface/diffusers@58eb52c schedulers/scheduling_heun_discrete.py `step`.
 */
function heunSampler(model: SigmaModel, options: SamplerOptions, clipRange?: number): Sampler {
  const sigmas = Float32Array.from(perCall(Array.from(model.sigmas), true));

  function update({ call, x, output, state }: UpdateInput<HeunState>): UpdateResult<HeunState> {
    const sigma = sigmas[call]!;
    const raw = denoise(model.precondition(sigma), output, x);
    const denoised = clipRange === undefined ? raw : clamp(raw, clipRange);
    const slope = div(sub(x, denoised), sigma);
    if (state.half === undefined) {
      const next = add(x, mul(slope, round(sigmas[call + 1]! - sigma)));
      return { x: next, denoised, state: { half: { start: x, slope } } };
    }
    const mean = div(add(state.half.slope, slope), 2);
    return { x: add(state.half.start, mul(mean, round(sigma - sigmas[call - 1]!))), denoised, state: {} };
  }

  return makeSampler({
    ...{ className, sigmas, update },
    timesteps: perCall(model.timesteps, false),
    initNoiseSigma: model.initNoiseSigma,
    dtype: options.dtype ?? "float32",
    initialState: {},
    inputScaleAt: (call) => model.precondition(sigmas[call]!).input,
    stepIndexOf: (call) => call >> 1,
  });
}

/** `heun`: HeunDiscreteScheduler; two model calls per step. */
export const heun: SamplerDefinition = {
  name: "heun",
  className,
  fromConfig(config, options) {
    const reader = new ConfigReader(config, className);
    const clips = reader.flag("clip_sample", false);
    return heunSampler(heunModel(config, options), options, clips ? reader.number("clip_sample_range", 1) : undefined);
  },
  overModel: (model, options) => heunSampler(model, options),
};
