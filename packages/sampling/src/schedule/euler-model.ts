import { type Prediction, preconditioning } from "../arithmetic/preconditioning";
import { ConfigReader, type SchedulerConfig } from "../config";
import { checkedSigmas, refuseOptions, type SamplerOptions, stepCount } from "../options";
import { ddpmBetas, readAlphas, smallestFloat16, trainingSigmas } from "./alphas";
import { interpolate, linspaceFloat32 } from "./ranges";
import { initialDeviation, type SigmaModel, type SigmaTable, withFinalSigma } from "./sigma-model";
import { logSigmas, readSigmaRange, readSigmaSpacing, sigmaToTimestep, spacedSigmas } from "./sigmas";
import { fractionalTimesteps, readTimestepSpacing } from "./timesteps";

/** The class whose configs this file reads. */
export const eulerClassName = "EulerDiscreteScheduler";

/** Noise levels, and how to find their timesteps: a continuous model has no use for those of the training table, which
 *  take a millisecond to find. */
interface Levels {
  sigmas: SigmaTable["sigmas"];
  trainedTimesteps(): SigmaTable["timesteps"];
}

/** Timesteps before any respacing. "trailing" may, by rounding, make one more than there are steps. */
interface Row {
  timesteps: readonly number[];
  steps: number;
}

function timestepsOf(sigmas: readonly number[], logs: Float32Array, precision: "float32" | "float64"): number[] {
  return sigmas.map((sigma) => Math.fround(sigmaToTimestep(sigma, logs, precision)));
}

function customLevels(reader: ConfigReader, sigmas: readonly number[], trained: Float32Array): Levels {
  const levels = Float32Array.from(checkedSigmas(sigmas, finalSigma(reader, trained)));
  const known = Array.from(levels.subarray(0, -1));
  return { sigmas: levels, trainedTimesteps: () => timestepsOf(known, logSigmas(trained), "float32") };
}

function finalSigma(reader: ConfigReader, trained: Float32Array): number {
  return reader.choice("final_sigmas_type", ["zero", "sigma_min"], "zero") === "zero" ? 0 : trained[0]!;
}

function interpolatedSigmas(reader: ConfigReader, { timesteps, steps }: Row, trained: Float32Array): number[] {
  const kind = reader.choice("interpolation_type", ["linear", "log_linear"], "linear");
  if (kind === "linear") return timesteps.map((timestep) => interpolate(timestep, trained));
  const [min, max] = [logSigmas(trained.subarray(0, 1))[0]!, logSigmas(trained.subarray(-1))[0]!];
  return Array.from(linspaceFloat32(max, min, steps + 1), (value) => Math.fround(Math.exp(value)));
}

function scheduledLevels(reader: ConfigReader, trained: Float32Array, row: Row): Levels {
  const falling = interpolatedSigmas(reader, row, trained);
  const spacing = readSigmaSpacing(reader);
  const last = finalSigma(reader, trained);
  if (spacing === undefined) return { sigmas: withFinalSigma(falling, last), trainedTimesteps: () => row.timesteps };
  const sigmas = spacedSigmas(spacing, readSigmaRange(reader, falling), row.steps);
  return {
    sigmas: withFinalSigma(sigmas, last),
    trainedTimesteps: () => timestepsOf(sigmas, logSigmas(trained), "float64"),
  };
}

/** `original_sample` is an old spelling that the class still takes. */
function readPrediction(reader: ConfigReader): Prediction {
  const kinds = ["epsilon", "sample", "v_prediction", "original_sample"] as const;
  const kind = reader.choice("prediction_type", kinds, "epsilon");
  return kind === "original_sample" ? "sample" : kind;
}

/** True for a config whose model gets 0.25·ln σ as its timestep: SVD, and whatever else is EDM with σ_data 1. */
export function isContinuous(reader: ConfigReader): boolean {
  return (
    reader.choice("timestep_type", ["discrete", "continuous"], "discrete") === "continuous" &&
    readPrediction(reader) === "v_prediction"
  );
}

/**
 * The noise levels, timesteps and preconditioning of an EulerDiscreteScheduler config: any `timestep_spacing`,
 * `interpolation_type`, Karras, exponential or beta spacing, `sigma_min`, `sigma_max`, `final_sigmas_type`,
 * `timestep_type`, or custom sigmas or timesteps. Source: huggingface/diffusers@58eb52c
 * schedulers/scheduling_euler_discrete.py `set_timesteps`.
 *
 * @throws VdError `attr` for values or combinations that the class refuses
 */
export function eulerModel(config: SchedulerConfig, options: SamplerOptions): SigmaModel {
  const reader = new ConfigReader(config, eulerClassName);
  const trained = trainingSigmas(readAlphas(reader, { ...ddpmBetas, zeroSnrFloor: smallestFloat16 }));
  const steps = stepCount(options, (count) => count - 1);
  const spacing = readTimestepSpacing(reader, "linspace");
  const offset = reader.integer("steps_offset", 0, 0);
  const numTrained = reader.integer("num_train_timesteps", 1000, 1);
  const prediction = readPrediction(reader);
  const continuous = isContinuous(reader);
  if (continuous || readSigmaSpacing(reader) !== undefined) refuseOptions(options, eulerClassName, ["timesteps"]);

  const row =
    options.timesteps?.map(Math.fround) ?? fractionalTimesteps({ spacing, steps, trained: numTrained, offset });
  const levels =
    options.sigmas !== undefined
      ? customLevels(reader, options.sigmas, trained)
      : scheduledLevels(reader, trained, { timesteps: row, steps });
  return {
    sigmas: levels.sigmas,
    timesteps: continuous ? quarterLogs(levels.sigmas) : levels.trainedTimesteps(),
    timestepAt: continuous ? quarterLog : (sigma) => timestepsOf([sigma], logSigmas(trained), "float32")[0]!,
    initNoiseSigma: initialDeviation(levels.sigmas, spacing),
    precondition: (sigma, outputSigma) => preconditioning(prediction, sigma, outputSigma),
  };
}

/** Returns 0.25·ln σ in float32: EDM's c_noise. */
export function quarterLog(sigma: number): number {
  return Math.fround(0.25 * Math.fround(Math.log(sigma)));
}

/** Returns {@link quarterLog} of all but the last noise level. */
export function quarterLogs(sigmas: Float32Array): number[] {
  return Array.from(sigmas.subarray(0, -1), quarterLog);
}
