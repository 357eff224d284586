import { type Prediction, preconditioning } from "../arithmetic/preconditioning";
import type { ConfigReader } from "../config";
import { refuseOptions, type SamplerOptions, stepCount } from "../options";
import { type BetaDefaults, readAlphas, trainingSigmas } from "./alphas";
import { interpolate, roundHalfEven } from "./ranges";
import { initialDeviation, type SigmaModel, withFinalSigma } from "./sigma-model";
import { logSigmas, readSigmaSpacing, sigmaToTimestep, spacedSigmas } from "./sigmas";
import { fractionalTimesteps, readTimestepSpacing } from "./timesteps";

/** What tells the classes apart whose noise levels {@link spacedModel} reads. */
export interface SpacedClass {
  className: string;
  betas: BetaDefaults;
  predictions: readonly Prediction[];
  /** The class takes custom timesteps. */
  takesTimesteps?: boolean;
  /** The class rounds the timesteps of Karras levels. */
  roundsKarras?: boolean;
}

/**
 * Returns the noise levels, one per step, and the preconditioning of a config of the classes on samples data + σ·noise: the
 * training schedule's own levels, or Karras, exponential or beta spacing between the ends of those. Source:
 * huggingface/diffusers@58eb52c schedulers/scheduling_heun_discrete.py `set_timesteps`.
 *
 * @throws VdError `attr` for a value that is not in its class, `unsupported` for options that the class does not take
 */
export function spacedModel(reader: ConfigReader, options: SamplerOptions, kind: SpacedClass): SigmaModel {
  const respacing = readSigmaSpacing(reader);
  refuseOptions(options, kind.className, ["sigmas"]);
  if (respacing !== undefined || !kind.takesTimesteps) refuseOptions(options, kind.className, ["timesteps"]);
  const trained = trainingSigmas(readAlphas(reader, kind.betas));
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
  const round = kind.roundsKarras && respacing === "karras" ? roundHalfEven : Math.fround;
  const sigmas = withFinalSigma(levels, 0);
  const prediction = reader.choice<Prediction>("prediction_type", kind.predictions, "epsilon");
  return {
    sigmas,
    timesteps: respacing === undefined ? row : levels.map((sigma) => round(sigmaToTimestep(sigma, logs, "float64"))),
    timestepAt: (sigma) => sigmaToTimestep(sigma, logs, "float32"),
    initNoiseSigma: initialDeviation(sigmas, spacing),
    precondition: (sigma) => preconditioning(prediction, sigma),
  };
}
