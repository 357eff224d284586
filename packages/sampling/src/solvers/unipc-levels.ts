import { VdError } from "@vd/kernels-native";
import type { ConfigReader } from "../config";
import { refuseOptions, type SamplerOptions, stepCount } from "../options";
import { dynamicFlowShift, flowShift, stretchToTerminal } from "../schedule/flow-shift";
import { interpolate, linspace, roundHalfEven } from "../schedule/ranges";
import { karrasSigmas, readSigmaRange, readSigmaSpacing } from "../schedule/sigmas";
import { readTimestepSpacing, solverTimesteps } from "../schedule/timesteps";
import { type Levels, readFinalSigma, respacedLevels, type SolverTable, solverTable } from "./solver-levels";

const className = "UniPCMultistepScheduler";

/** Noise levels in 0…1 shifted by `mu`: https://arxiv.org/abs/2403.03206, with σ = 1. */
function dynamicShift(reader: ConfigReader, options: SamplerOptions, sigmas: readonly number[]): number[] {
  const type = reader.choice("time_shift_type", ["exponential", "linear"], "exponential");
  if (options.mu === undefined) {
    const where = `${className}.use_dynamic_shifting`;
    throw new VdError({ code: "attr", where, expected: "the option mu beside it", got: "none" });
  }
  return sigmas.map((sigma) => dynamicFlowShift(sigma, options.mu!, type));
}

function flowLevels(reader: ConfigReader, options: SamplerOptions, steps: number): Levels {
  const trained = reader.integer("num_train_timesteps", 1000, 1);
  const shift = reader.number("flow_shift", 1);
  const given = options.sigmas ?? linspace(1, 1 / trained, steps + 1).slice(0, -1);
  const shifted = reader.flag("use_dynamic_shifting", false)
    ? dynamicShift(reader, options, given)
    : given.map((sigma) => flowShift(sigma, shift));
  const terminal = reader.optionalNumber("shift_terminal");
  const sigmas = terminal ? stretchToTerminal(shifted, terminal) : shifted;
  // At σ = 1 there would be no signal at all, and λ would be infinite.
  const epsilon = 1e-6;
  if (Math.abs(sigmas[0]! - 1) < epsilon) sigmas[0] = sigmas[0]! - epsilon;
  return { sigmas, timesteps: sigmas.map((sigma) => sigma * trained) };
}

function karrasFlowLevels(reader: ConfigReader, trainedSigmas: Float32Array, steps: number): Levels {
  const trained = reader.integer("num_train_timesteps", 1000, 1);
  const range = readSigmaRange(reader, Float32Array.from(trainedSigmas).reverse());
  const sigmas = karrasSigmas(range, linspace(0, 1, steps)).map((sigma) => sigma / (sigma + 1));
  return { sigmas, timesteps: sigmas.map((sigma) => sigma * trained) };
}

function ownLevels(reader: ConfigReader, trainedSigmas: Float32Array, steps: number): Levels {
  const trained = reader.integer("num_train_timesteps", 1000, 1);
  const spacing = readTimestepSpacing(reader, "linspace");
  const timesteps = solverTimesteps({ spacing, steps, trained, offset: reader.integer("steps_offset", 0, 0) });
  return { timesteps, sigmas: timesteps.map((timestep) => interpolate(timestep, trainedSigmas)) };
}

/** Karras, exponential, beta or flow levels. */
function respaced(reader: ConfigReader, options: SamplerOptions, trained: Float32Array, steps: number): Levels {
  const spacing = readSigmaSpacing(reader);
  if (spacing === undefined) return flowLevels(reader, options, steps);
  if (spacing === "karras" && reader.flag("use_flow_sigmas", false)) return karrasFlowLevels(reader, trained, steps);
  const made = respacedLevels(reader, spacing, trained, steps);
  return spacing === "karras" ? { ...made, timesteps: made.timesteps.map(roundHalfEven) } : made;
}

/**
 * The noise levels and integer timesteps of a UniPCMultistepScheduler config: Karras (plain or as flow levels),
 * exponential, beta or flow spacing with static or dynamic shift, or the training schedule's own. With "sigma_min" the
 * last level repeats the one before it, except on the training schedule's own. Source: huggingface/diffusers@58eb52c
 * schedulers/scheduling_unipc_multistep.py `set_timesteps`.
 *
 * @throws VdError `attr`, `unsupported`
 */
export function unipcTable(reader: ConfigReader, options: SamplerOptions, trained: Float32Array): SolverTable {
  refuseOptions(options, className, ["timesteps"]);
  const spacing = readSigmaSpacing(reader);
  const flow = reader.flag("use_flow_sigmas", false);
  if (!flow || spacing !== undefined) refuseOptions(options, className, ["sigmas"]);
  if (!flow && reader.optionalNumber("shift_terminal") !== undefined) {
    const where = `${className}.shift_terminal`;
    throw new VdError({ code: "attr", where, expected: "use_flow_sigmas beside it", got: "false" });
  }
  const steps = stepCount(options, (count) => count);
  const toZero = readFinalSigma(reader) === "zero";
  if (spacing === undefined && !flow) return solverTable(ownLevels(reader, trained, steps), toZero ? 0 : trained[0]!);
  const levels = respaced(reader, options, trained, steps);
  return solverTable(levels, toZero ? 0 : levels.sigmas.at(-1)!);
}
