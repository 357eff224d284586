import { VdError } from "@vd/kernels-native";
import type { ConfigReader } from "../config";
import { linspaceFloat32 } from "./ranges";

/** The names of the beta schedules; `exp` is HeunDiscreteScheduler's alone, `sigmoid` and `laplace` are DDPMScheduler's. */
export type BetaSchedule = "linear" | "scaled_linear" | "squaredcos_cap_v2" | "exp" | "sigmoid" | "laplace";

/** What a scheduler class assumes where its config is silent. */
export interface BetaDefaults {
  betaStart: number;
  betaEnd: number;
  betaSchedule: BetaSchedule;
  schedules?: readonly BetaSchedule[];
  /** ᾱ of the last timestep when the betas are rescaled to zero terminal SNR; undefined leaves it at 0. */
  zeroSnrFloor?: number;
  /** False for a class that has no `rescale_betas_zero_snr`. */
  rescalable?: boolean;
}

/** 2^-24, the smallest float16: it keeps σ of the last timestep finite (4096). */
export const smallestFloat16 = 2 ** -24;

/** The defaults of most diffusers classes. */
export const ddpmBetas: BetaDefaults = { betaStart: 0.0001, betaEnd: 0.02, betaSchedule: "linear" };

/** The beta schedules that all classes have. */
export const commonSchedules: readonly BetaSchedule[] = ["linear", "scaled_linear", "squaredcos_cap_v2"];

/** The defaults of Heun's and the DPM2 classes, which do not rescale to zero terminal SNR. */
export const kDiffusionBetas: BetaDefaults = {
  betaStart: 0.00085,
  betaEnd: 0.012,
  betaSchedule: "linear",
  rescalable: false,
};

function betasForAlphaBar(count: number, alphaBar: (time: number) => number): Float32Array {
  const maxBeta = 0.999;
  return Float32Array.from({ length: count }, (_, i) =>
    Math.min(1 - alphaBar((i + 1) / count) / alphaBar(i / count), maxBeta),
  );
}

/** Signal-to-noise ratios of a Laplace distribution. Source: https://arxiv.org/abs/2407.03297. */
function laplaceAlphaBar(time: number): number {
  const side = time <= 0.5 ? 1 : -1;
  const logSnr = -0.5 * side * Math.log(1 - 2 * Math.abs(0.5 - time) + 1e-6);
  const snr = Math.exp(logSnr);
  return Math.sqrt(snr / (1 + snr));
}

function readBetas(reader: ConfigReader, defaults: BetaDefaults, count: number): Float32Array {
  const trained = reader.optionalNumbers("trained_betas");
  const schedule = reader.choice("beta_schedule", defaults.schedules ?? commonSchedules, defaults.betaSchedule);
  if (trained !== undefined) return Float32Array.from(trained);
  const start = reader.number("beta_start", defaults.betaStart);
  const end = reader.number("beta_end", defaults.betaEnd);
  switch (schedule) {
    case "linear":
      return linspaceFloat32(start, end, count);
    case "scaled_linear":
      return linspaceFloat32(Math.sqrt(start), Math.sqrt(end), count).map((root) => root * root);
    case "squaredcos_cap_v2":
      return betasForAlphaBar(count, (time) => Math.cos((((time + 0.008) / 1.008) * Math.PI) / 2) ** 2);
    case "exp":
      return betasForAlphaBar(count, (time) => Math.exp(time * -12));
    case "laplace":
      return betasForAlphaBar(count, laplaceAlphaBar);
    case "sigmoid":
      return linspaceFloat32(-6, 6, count).map((x) => start + (end - start) / (1 + Math.exp(-x)));
  }
}

/** Cumulative products of 1 − beta: accumulated in float64, each stored as float32, as torch does on the CPU. */
function cumulativeAlphas(betas: Float32Array): Float32Array {
  let product = 1;
  return betas.map((beta) => {
    product *= Math.fround(1 - beta);
    return product;
  });
}

/**
 * Shifts and scales √ᾱ so that the last one is 0 and the first stays. Every operation rounds to float32. Source:
 * https://arxiv.org/abs/2305.08891, algorithm 1.
 */
function rescaleToZeroTerminalSnr(betas: Float32Array): Float32Array {
  const roots = cumulativeAlphas(betas).map(Math.sqrt);
  const first = roots[0]!;
  const last = roots.at(-1)!;
  const scale = Math.fround(first / Math.fround(first - last));
  const squares = roots.map((root) => Math.fround(Math.fround(root - last) * scale) ** 2);
  return squares.map((square, i) => 1 - (i === 0 ? square : Math.fround(square / squares[i - 1]!)));
}

/**
 * ᾱ of every training timestep, float32 [num_train_timesteps], from `beta_schedule`, `beta_start`, `beta_end`,
 * `trained_betas` and `rescale_betas_zero_snr`. Source: huggingface/diffusers@58eb52c
 * schedulers/scheduling_euler_discrete.py.
 *
 * @throws VdError `attr` for a value that is not in its class
 */
export function readAlphas(reader: ConfigReader, defaults: BetaDefaults): Float32Array {
  const count = reader.integer("num_train_timesteps", 1000, 1);
  const betas = readBetas(reader, defaults, count);
  if (betas.length === 0) {
    const where = "trained_betas";
    throw new VdError({ code: "attr", where, expected: "at least one beta", got: "an empty list" });
  }
  const rescale = defaults.rescalable !== false && reader.flag("rescale_betas_zero_snr", false);
  const alphas = cumulativeAlphas(rescale ? rescaleToZeroTerminalSnr(betas) : betas);
  if (rescale && defaults.zeroSnrFloor !== undefined) alphas[alphas.length - 1] = defaults.zeroSnrFloor;
  return alphas;
}

/** σ = √((1 − ᾱ)/ᾱ) of every training timestep, rising, each operation in float32. */
export function trainingSigmas(alphas: Float32Array): Float32Array {
  return alphas.map((alpha) => Math.sqrt(Math.fround(Math.fround(1 - alpha) / alpha)));
}
