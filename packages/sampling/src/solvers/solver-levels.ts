import type { ConfigReader } from "../config";
import type { SigmaTable } from "../schedule/sigma-model";
import { logSigmas, readSigmaRange, type SigmaSpacing, sigmaToTimestep, spacedSigmas } from "../schedule/sigmas";

/** Falling noise levels (no last one yet) and the timestep of each, before it is made an integer. */
export interface Levels {
  sigmas: readonly number[];
  timesteps: readonly number[];
}

/** Levels and integer timesteps with the last noise level appended, as the multistep solvers use them. */
export type SolverTable = Pick<SigmaTable, "sigmas" | "timesteps">;

/** Levels between the ends of the training schedule, or `sigma_min` and `sigma_max`, spaced as the config says. */
export function respacedLevels(
  reader: ConfigReader,
  spacing: NonNullable<SigmaSpacing>,
  trained: Float32Array,
  steps: number,
): Levels {
  const range = readSigmaRange(reader, Float32Array.from(trained).reverse());
  const sigmas = spacedSigmas(spacing, range, steps);
  return { sigmas, timesteps: timestepsOf(sigmas, trained) };
}

/** The fractional training timesteps of float64 noise levels. */
export function timestepsOf(sigmas: readonly number[], trained: Float32Array): number[] {
  const logs = logSigmas(trained);
  return sigmas.map((sigma) => sigmaToTimestep(sigma, logs, "float64"));
}

/** Appends the last noise level and cuts the timesteps to integers. */
export function solverTable({ sigmas, timesteps }: Levels, last: number): SolverTable {
  return { sigmas: Float32Array.from([...sigmas, last]), timesteps: timesteps.map(Math.trunc) };
}

/**
 * Reads `final_sigmas_type`.
 *
 * @throws VdError `attr`
 */
export function readFinalSigma(reader: ConfigReader): "zero" | "sigma_min" {
  return reader.choice("final_sigmas_type", ["zero", "sigma_min"], "zero");
}
