import {
  COUNT,
  having,
  listOf,
  NUMBER,
  optional,
  requireArgument,
  requireFields,
  type WantedFields,
} from "@vd/kernels-native";
import { ConfigReader, classNameOf, type SchedulerConfig } from "../config";
import { ddpmBetas, readAlphas, trainingSigmas } from "./alphas";
import { betaQuantile } from "./beta-quantile";
import { numpyLogFloat32 } from "./numpy-log";
import { linspace } from "./ranges";

/** The two ends of a table of noise levels. */
export interface SigmaRange {
  min: number;
  max: number;
}

const RANGE: WantedFields = { min: NUMBER, max: NUMBER };
const RAMP = listOf(NUMBER);
const TRAINED = having("a list of noise levels", ["length"]);

/** Refuses what is no range or no count. @throws VdError `attr` */
function requireSpacing(where: string, range: unknown, count: unknown): void {
  requireFields(`${where} range`, range, RANGE);
  requireArgument(`${where} count`, count, COUNT);
}

/** The smoothing exponent of https://arxiv.org/abs/2206.00364, equation 5. */
export const karrasRho = 7;

/** Noise levels falling from max to min, evenly spaced in σ^(1/rho) along `ramp` (0 → max, 1 → min). float64.
 *  @throws VdError `attr` for what is no range, and for a ramp that is no list of numbers */
export function karrasSigmas(range: SigmaRange, ramp: readonly number[], rho = karrasRho): number[] {
  requireFields("karrasSigmas range", range, RANGE);
  requireArgument("karrasSigmas ramp", ramp, RAMP);
  const { min, max } = range;
  const fromMax = max ** (1 / rho);
  const span = min ** (1 / rho) - fromMax;
  return ramp.map((position) => (fromMax + position * span) ** rho);
}

/** Noise levels falling from max to min, evenly spaced in ln σ. float64. @throws VdError `attr` for what is no range or no count */
export function exponentialSigmas(range: SigmaRange, count: number): number[] {
  requireSpacing("exponentialSigmas", range, count);
  const { min, max } = range;
  return linspace(Math.log(max), Math.log(min), count).map(Math.exp);
}

/** Noise levels falling from max to min at the quantiles of Beta(0.6, 0.6): https://arxiv.org/abs/2407.12173.
 *  @throws VdError `attr` for what is no range or no count */
export function betaSigmas(range: SigmaRange, count: number): number[] {
  requireSpacing("betaSigmas", range, count);
  const { min, max } = range;
  return linspace(0, 1, count).map((position) => min + betaQuantile(1 - position, 0.6, 0.6) * (max - min));
}

/** Returns noise levels falling evenly from max to min. float64. @throws VdError `attr` for what is no range or no count */
export function linearSigmas(range: SigmaRange, count: number): number[] {
  requireSpacing("linearSigmas", range, count);
  return linspace(range.max, range.min, count);
}

/**
 * Returns noise levels falling from max to min, polynomial in ln σ: rho 1 is {@link exponentialSigmas}, more puts more of them at the
 * low end. float64. Source: crowsonkb/k-diffusion@4601bf0 k_diffusion/sampling.py `get_sigmas_polyexponential`.
 *
 * @throws VdError `attr` for what is no range or no count
 */
export function polyexponentialSigmas(range: SigmaRange, count: number, rho = 1): number[] {
  requireSpacing("polyexponentialSigmas", range, count);
  const { min, max } = range;
  const span = Math.log(max) - Math.log(min);
  return linspace(1, 0, count).map((position) => Math.exp(position ** rho * span + Math.log(min)));
}

/** What shapes the variance-preserving process. */
export interface VpOptions {
  /** How far β rises; default 19.9. */
  betaRange?: number;
  /** Where β begins; default 0.1. */
  betaMin?: number;
  /** The last time; default 0.001. */
  end?: number;
}

const VP: WantedFields = { betaRange: optional(NUMBER), betaMin: optional(NUMBER), end: optional(NUMBER) };

/**
 * Returns falling noise levels of the continuous variance-preserving process from t = 1 to `end`. float64. Source:
 * https://arxiv.org/abs/2011.13456, equation 32; crowsonkb/k-diffusion@4601bf0 `get_sigmas_vp`.
 *
 * @throws VdError `attr` for what is no count, and for options that are no numbers
 */
export function vpSigmas(count: number, options: VpOptions = {}): number[] {
  requireArgument("vpSigmas count", count, COUNT);
  requireFields("vpSigmas", options, VP);
  const { betaRange = 19.9, betaMin = 0.1, end = 1e-3 } = options;
  return linspace(1, end, count).map((t) => Math.sqrt(Math.expm1((betaRange * t * t) / 2 + betaMin * t)));
}

/**
 * Returns `count` falling noise levels of a training schedule at evenly spaced timesteps from the last one on, without the lowest of
 * `count` + 1: the spacing of Stability's own code. trained: σ of every training timestep, rising. Source: Comfy-Org/ComfyUI
 * comfy/samplers.py `normal_scheduler` with `sgm`.
 *
 * @throws VdError `attr` for what is no list or no count
 */
export function sgmUniformSigmas(trained: ArrayLike<number>, count: number): number[] {
  requireArgument("sgmUniformSigmas trained", trained, TRAINED);
  requireArgument("sgmUniformSigmas count", count, COUNT);
  const timesteps = linspace(trained.length - 1, 0, count + 1).slice(0, -1);
  return timesteps.map((timestep) => interpolateLog(timestep, trained));
}

/** σ at a fractional timestep, linear in ln σ between neighbours. */
function interpolateLog(timestep: number, trained: ArrayLike<number>): number {
  const [low, high] = [Math.floor(timestep), Math.ceil(timestep)];
  const weight = timestep - low;
  return Math.exp((1 - weight) * Math.log(trained[low]!) + weight * Math.log(trained[high]!));
}

/**
 * Returns the rising noise levels of every training timestep of a config: what {@link sgmUniformSigmas} picks from, and whose ends
 * bound the other spacings. float32 [num_train_timesteps].
 *
 * @throws VdError `attr` for a value that is not in its class
 */
export function trainedSigmas(config: SchedulerConfig): Float32Array {
  const reader = new ConfigReader(config, classNameOf(config, "scheduler"));
  return trainingSigmas(readAlphas(reader, ddpmBetas));
}

/** Which of the spacings above a config asks for; undefined is the training schedule's own. */
export type SigmaSpacing = "karras" | "exponential" | "beta" | undefined;

/**
 * Reads `use_karras_sigmas`, `use_exponential_sigmas` and `use_beta_sigmas`.
 *
 * @throws VdError `attr` when two are set
 */
export function readSigmaSpacing(reader: ConfigReader): SigmaSpacing {
  reader.atMostOne(["use_karras_sigmas", "use_exponential_sigmas", "use_beta_sigmas"]);
  if (reader.flag("use_karras_sigmas", false)) return "karras";
  if (reader.flag("use_exponential_sigmas", false)) return "exponential";
  return reader.flag("use_beta_sigmas", false) ? "beta" : undefined;
}

/** `count` noise levels between the ends, spaced as named. */
export function spacedSigmas(spacing: NonNullable<SigmaSpacing>, range: SigmaRange, count: number): number[] {
  if (spacing === "karras") return karrasSigmas(range, linspace(0, 1, count));
  return spacing === "exponential" ? exponentialSigmas(range, count) : betaSigmas(range, count);
}

/** `sigma_min` and `sigma_max` of a config, where its class has them, else the ends of a falling table. */
export function readSigmaRange(reader: ConfigReader, falling: ArrayLike<number>): SigmaRange {
  return {
    min: reader.optionalNumber("sigma_min") ?? falling[falling.length - 1]!,
    max: reader.optionalNumber("sigma_max") ?? falling[0]!,
  };
}

/** Natural logarithms of the training noise levels, as numpy computes them: what {@link sigmaToTimestep} searches. */
export function logSigmas(sigmas: Float32Array): Float32Array {
  return sigmas.map(numpyLogFloat32);
}

function positionBetween(low: number, high: number, logSigma: number, round: (value: number) => number): number {
  const weight = round(round(low - logSigma) / Math.fround(low - high));
  return Math.min(Math.max(weight, 0), 1);
}

/**
 * The (fractional) training timestep whose noise level is `sigma`, by linear interpolation in ln σ over the training
 * levels, whose logarithms `logs` rise. `precision` is the type the reference has `sigma` in.
 */
export function sigmaToTimestep(sigma: number, logs: Float32Array, precision: "float32" | "float64"): number {
  const single = precision === "float32";
  const round = single ? Math.fround : (value: number) => value;
  const floored = Math.max(sigma, 1e-10);
  const logSigma = single ? numpyLogFloat32(floored) : Math.log(floored);
  let low = logs.length - 1;
  while (low > 0 && !(round(logSigma - logs[low]!) >= 0)) low--;
  low = Math.min(low, logs.length - 2);
  const weight = positionBetween(logs[low]!, logs[low + 1]!, logSigma, round);
  return round(1 - weight) * low + weight * (low + 1);
}
