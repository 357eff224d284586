import { VdError } from "@vd/kernels-native";
import type { ConfigReader } from "../config";
import { refuseOptions, type SamplerOptions, stepCount } from "../options";
import { interpolate, linspace, roundHalfEven } from "../schedule/ranges";
import { logSigmas, readSigmaSpacing } from "../schedule/sigmas";
import { readTimestepSpacing, solverTimesteps } from "../schedule/timesteps";
import {
  type Levels,
  readFinalSigma,
  respacedLevels,
  type SolverTable,
  solverTable,
  timestepsOf,
} from "./solver-levels";

const className = "DPMSolverMultistepScheduler";
const round = Math.fround;

/** The number of training timesteps above `lambda_min_clipped`. `alphas` falls. */
function lastTimestep(reader: ConfigReader, alphas: Float32Array, trained: number): number {
  const limit = round(reader.number("lambda_min_clipped", Number.NEGATIVE_INFINITY));
  const logRatio = (alpha: number) =>
    round(round(Math.log(round(Math.sqrt(alpha)))) - round(Math.log(round(Math.sqrt(round(1 - alpha))))));
  return trained - alphas.filter((alpha) => logRatio(alpha) < limit).length;
}

function ownTimesteps(reader: ConfigReader, options: SamplerOptions, alphas: Float32Array, steps: number) {
  if (options.timesteps !== undefined) return options.timesteps.map(Math.trunc);
  const trained = reader.integer("num_train_timesteps", 1000, 1);
  const spacing = readTimestepSpacing(reader, "linspace");
  const offset = reader.integer("steps_offset", 0, 0);
  return solverTimesteps({ spacing, steps, trained, offset }, lastTimestep(reader, alphas, trained));
}

/** Evenly spaced λ between the ends of the training schedule: https://arxiv.org/abs/2206.00927. */
function luLevels(trained: Float32Array, steps: number): Levels {
  const logs = logSigmas(trained);
  const sigmas = linspace(0, 1, steps).map((ramp) => Math.exp(logs.at(-1)! + ramp * (logs[0]! - logs.at(-1)!)));
  return { sigmas, timesteps: timestepsOf(sigmas, trained) };
}

function flowLevels(reader: ConfigReader, options: SamplerOptions, steps: number): Levels {
  const trained = reader.integer("num_train_timesteps", 1000, 1);
  const shift = options.mu === undefined ? reader.number("flow_shift", 1) : Math.exp(options.mu);
  const rising = linspace(1, 1 / trained, steps + 1).map((alpha) => 1 - alpha);
  const sigmas = rising
    .map((sigma) => (shift * sigma) / (1 + (shift - 1) * sigma))
    .reverse()
    .slice(0, -1);
  return { sigmas, timesteps: sigmas.map((sigma) => sigma * trained) };
}

function checkMu(reader: ConfigReader, options: SamplerOptions): void {
  const dynamic = reader.flag("use_dynamic_shifting", false);
  const type = reader.choice("time_shift_type", ["exponential"], "exponential");
  if (options.mu === undefined || (dynamic && type === "exponential")) return;
  const where = `${className}.use_dynamic_shifting`;
  throw new VdError({ code: "attr", where, expected: "true where mu is given", got: String(dynamic) });
}

function levels(reader: ConfigReader, options: SamplerOptions, alphas: Float32Array, trained: Float32Array): Levels {
  const steps = stepCount(options, (count) => count);
  const spacing = readSigmaSpacing(reader);
  const lu = reader.flag("use_lu_lambdas", false);
  const flow = reader.flag("use_flow_sigmas", false);
  if (spacing !== undefined || lu || flow) refuseOptions(options, className, ["timesteps"]);
  if (spacing === "karras" || lu) {
    const made = spacing === "karras" ? respacedLevels(reader, spacing, trained, steps) : luLevels(trained, steps);
    const cosine = reader.choice("beta_schedule", anySchedule, "linear") === "squaredcos_cap_v2";
    return cosine ? made : { ...made, timesteps: made.timesteps.map(roundHalfEven) };
  }
  if (spacing !== undefined) return respacedLevels(reader, spacing, trained, steps);
  if (flow) return flowLevels(reader, options, steps);
  const timesteps = ownTimesteps(reader, options, alphas, steps);
  return { timesteps, sigmas: timesteps.map((timestep) => interpolate(timestep, trained)) };
}

const anySchedule = ["linear", "scaled_linear", "squaredcos_cap_v2"] as const;

/**
 * The noise levels and integer timesteps of a DPMSolverMultistepScheduler config: Karras, Lu, exponential, beta or flow
 * spacing, or the training schedule's own with `lambda_min_clipped`. Source: huggingface/diffusers@58eb52c
 * schedulers/scheduling_dpmsolver_multistep.py `set_timesteps`.
 *
 * @throws VdError `attr`
 */
export function dpmSolverTable(
  reader: ConfigReader,
  options: SamplerOptions,
  alphas: Float32Array,
  trained: Float32Array,
): SolverTable {
  refuseOptions(options, className, ["sigmas"]);
  checkMu(reader, options);
  const last = readFinalSigma(reader) === "zero" ? 0 : trained[0]!;
  return solverTable(levels(reader, options, alphas, trained), last);
}
