import type { ConfigReader } from "../config";
import { refuseOptions, type SamplerOptions, stepCount } from "../options";
import { trainingSigmas } from "../schedule/alphas";
import { interpolate, linspace, roundHalfEven } from "../schedule/ranges";
import { logSigmas, readSigmaSpacing } from "../schedule/sigmas";
import { readTimestepSpacing, solverTimesteps } from "../schedule/timesteps";
import { checkFlowMu, flowLevels } from "./flow-levels";
import {
  type Levels,
  readFinalSigma,
  respacedLevels,
  type SolverTable,
  solverTable,
  timestepsOf,
} from "./solver-levels";

/** What tells the classes apart whose noise levels {@link dpmSolverTable} reads. */
export interface DpmLevels {
  className: string;
  /** The class reads `timestep_spacing` and `steps_offset`; else it spaces them as "linspace". */
  spacesTimesteps: boolean;
  /** The class has `use_lu_lambdas`. */
  takesLu: boolean;
  /** The class keeps the fractions of Karras timesteps on the cosine schedule. */
  keepsCosineFractions: boolean;
}

/** The levels of DPMSolverMultistepScheduler. */
export const multistepLevels: DpmLevels = {
  className: "DPMSolverMultistepScheduler",
  spacesTimesteps: true,
  takesLu: true,
  keepsCosineFractions: true,
};

/** The levels of DPMSolverSinglestepScheduler. */
export const singlestepLevels: DpmLevels = {
  className: "DPMSolverSinglestepScheduler",
  spacesTimesteps: false,
  takesLu: false,
  keepsCosineFractions: false,
};

const round = Math.fround;

/** The number of training timesteps above `lambda_min_clipped`. `alphas` falls. */
function lastTimestep(reader: ConfigReader, alphas: Float32Array, trained: number): number {
  const limit = round(reader.number("lambda_min_clipped", Number.NEGATIVE_INFINITY));
  const logRatio = (alpha: number) =>
    round(round(Math.log(round(Math.sqrt(alpha)))) - round(Math.log(round(Math.sqrt(round(1 - alpha))))));
  return trained - alphas.filter((alpha) => logRatio(alpha) < limit).length;
}

function ownTimesteps(
  reader: ConfigReader,
  options: SamplerOptions,
  alphas: Float32Array,
  steps: number,
  kind: DpmLevels,
) {
  if (options.timesteps !== undefined) return options.timesteps.map(Math.trunc);
  const trained = reader.integer("num_train_timesteps", 1000, 1);
  const spacing = kind.spacesTimesteps ? readTimestepSpacing(reader, "linspace") : "linspace";
  const offset = reader.integer("steps_offset", 0, 0);
  return solverTimesteps({ spacing, steps, trained, offset }, lastTimestep(reader, alphas, trained));
}

/** Evenly spaced λ between the ends of the training schedule: https://arxiv.org/abs/2206.00927. */
function luLevels(trained: Float32Array, steps: number): Levels {
  const logs = logSigmas(trained);
  const sigmas = linspace(0, 1, steps).map((ramp) => Math.exp(logs.at(-1)! + ramp * (logs[0]! - logs.at(-1)!)));
  return { sigmas, timesteps: timestepsOf(sigmas, trained) };
}

function levels(reader: ConfigReader, options: SamplerOptions, alphas: Float32Array, kind: DpmLevels): Levels {
  const trained = trainingSigmas(alphas);
  checkFlowMu(reader, options, kind.className);
  const steps = stepCount(options, (count) => count);
  const spacing = readSigmaSpacing(reader);
  const lu = kind.takesLu && reader.flag("use_lu_lambdas", false);
  const flow = reader.flag("use_flow_sigmas", false);
  if (spacing !== undefined || lu || flow) refuseOptions(options, kind.className, ["timesteps"]);
  if (spacing === "karras" || lu) {
    const made = spacing === "karras" ? respacedLevels(reader, spacing, trained, steps) : luLevels(trained, steps);
    const cosine = reader.choice("beta_schedule", anySchedule, "linear") === "squaredcos_cap_v2";
    return cosine && kind.keepsCosineFractions ? made : { ...made, timesteps: made.timesteps.map(roundHalfEven) };
  }
  if (spacing !== undefined) return respacedLevels(reader, spacing, trained, steps);
  if (flow) return flowLevels(reader, options, steps);
  const timesteps = ownTimesteps(reader, options, alphas, steps, kind);
  return { timesteps, sigmas: timesteps.map((timestep) => interpolate(timestep, trained)) };
}

const anySchedule = ["linear", "scaled_linear", "squaredcos_cap_v2"] as const;

/**
 * Returns the noise levels and integer timesteps of a config of the DPM-Solver classes: Karras, Lu, exponential, beta or flow
 * spacing, or the training schedule's own with `lambda_min_clipped`. Source: huggingface/diffusers@58eb52c
 * schedulers/scheduling_dpmsolver_multistep.py and scheduling_dpmsolver_singlestep.py `set_timesteps`.
 *
 * @throws VdError `attr`
 */
export function dpmSolverTable(
  reader: ConfigReader,
  options: SamplerOptions,
  alphas: Float32Array,
  kind: DpmLevels,
): SolverTable {
  refuseOptions(options, kind.className, ["sigmas"]);
  const last = readFinalSigma(reader) === "zero" ? 0 : trainingSigmas(alphas)[0]!;
  return solverTable(levels(reader, options, alphas, kind), last);
}
