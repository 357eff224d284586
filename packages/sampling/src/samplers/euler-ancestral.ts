import { denoise, type Prediction, preconditioning } from "../arithmetic/preconditioning";
import { add, cast, div, mul, sub } from "../arithmetic/values";
import { ConfigReader, type SchedulerConfig } from "../config";
import type { SamplerDefinition } from "../definition";
import { refuseOptions, type SamplerOptions, stepCount } from "../options";
import { makeSampler, type Sampler, type UpdateInput } from "../sampler";
import { ddpmBetas, readAlphas, smallestFloat16, trainingSigmas } from "../schedule/alphas";
import { interpolate } from "../schedule/ranges";
import { initialDeviation, type SigmaModel, withFinalSigma } from "../schedule/sigma-model";
import { logSigmas, sigmaToTimestep } from "../schedule/sigmas";
import { fractionalTimesteps, readTimestepSpacing } from "../schedule/timesteps";
import { ancestralSplit } from "../solvers/ancestral-split";

const className = "EulerAncestralDiscreteScheduler";
const round = Math.fround;

/**
 * The noise levels of an EulerAncestralDiscreteScheduler config: the training schedule's own.
 *
 * @throws VdError `attr`
 */
function ancestralModel(config: SchedulerConfig, options: SamplerOptions): SigmaModel {
  refuseOptions(options, className, ["sigmas", "timesteps"]);
  const reader = new ConfigReader(config, className);
  const trained = trainingSigmas(readAlphas(reader, { ...ddpmBetas, zeroSnrFloor: smallestFloat16 }));
  const spacing = readTimestepSpacing(reader, "linspace");
  const timesteps = fractionalTimesteps({
    spacing,
    steps: stepCount(options, (count) => count),
    trained: reader.integer("num_train_timesteps", 1000, 1),
    offset: reader.integer("steps_offset", 0, 0),
  });
  const falling = timesteps.map((timestep) => interpolate(timestep, trained));
  const sigmas = withFinalSigma(falling, 0);
  const prediction = reader.choice<Prediction>("prediction_type", ["epsilon", "v_prediction"], "epsilon");
  return {
    ...{ sigmas, timesteps },
    initNoiseSigma: initialDeviation(sigmas, spacing),
    timestepAt: (sigma) => round(sigmaToTimestep(sigma, logSigmas(trained), "float32")),
    precondition: (sigma) => preconditioning(prediction, sigma),
  };
}

/**
 * Ancestral sampling with Euler steps; every step draws noise, the last one too (times 0). Source:
 * huggingface/diffusers@58eb52c schedulers/scheduling_euler_ancestral_discrete.py `step`.
 */
function ancestralSampler(model: SigmaModel, options: SamplerOptions): Sampler {
  const { sigmas, timesteps, initNoiseSigma } = model;

  function update({ call, x, output, noise }: UpdateInput<null>) {
    const sigma = sigmas[call]!;
    const { down, up } = ancestralSplit(sigma, sigmas[call + 1]!);
    const sample = cast(x, "float32");
    const denoised = denoise(model.precondition(sigma), output, sample);
    const derivative = div(sub(sample, denoised), sigma);
    const lower = add(sample, mul(derivative, round(down - sigma)));
    return { x: add(lower, mul(noise, up)), denoised, state: null };
  }

  return makeSampler({
    ...{ className, sigmas, timesteps, initNoiseSigma, update },
    dtype: options.dtype ?? "float32",
    initialState: null,
    inputScaleAt: (call) => model.precondition(sigmas[call]!).input,
    noiseAt: () => true,
  });
}

/** `euler_a`: EulerAncestralDiscreteScheduler. */
export const eulerAncestral: SamplerDefinition = {
  name: "euler_a",
  className,
  fromConfig: (config, options) => ancestralSampler(ancestralModel(config, options), options),
  overModel: ancestralSampler,
};
