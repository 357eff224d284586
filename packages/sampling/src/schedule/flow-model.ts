import { VdError } from "@vd/kernels-native";
import type { ConfigReader } from "../config";
import { refuseOptions, type SamplerOptions, stepCount } from "../options";
import { dynamicFlowShift, flowShift, stretchToTerminal } from "./flow-shift";
import { linspace } from "./ranges";
import type { SigmaTable } from "./sigma-model";
import { readSigmaRange, readSigmaSpacing, spacedSigmas } from "./sigmas";

const round = Math.fround;

/** The levels between the ends of the training schedule, which `shift` has already moved once. */
function evenLevels(steps: number, trained: number, shift: number): number[] {
  const [max, min] = [1, 1 / trained].map((sigma) => round(flowShift(sigma, shift)));
  return linspace(max! * trained, min! * trained, steps).map((timestep) => timestep / trained);
}

function shifted(
  reader: ConfigReader,
  options: SamplerOptions,
  sigmas: readonly number[],
  className: string,
): number[] {
  if (!reader.flag("use_dynamic_shifting", false)) {
    const shift = reader.number("shift", 1);
    return sigmas.map((sigma) => flowShift(sigma, shift));
  }
  const { mu } = options;
  const where = `${className}.use_dynamic_shifting`;
  if (mu === undefined) throw new VdError({ code: "attr", where, expected: "the option mu beside it", got: "none" });
  const kind = reader.choice("time_shift_type", ["exponential", "linear"], "exponential");
  return sigmas.map((sigma) => dynamicFlowShift(sigma, mu, kind));
}

/** Returns the noise levels in 0…1 and the timesteps of FlowMatchHeunDiscreteScheduler, one per step. */
export function flowHeunTable(reader: ConfigReader, options: SamplerOptions, className: string): SigmaTable {
  refuseOptions(options, className, ["sigmas", "timesteps", "mu"]);
  const trained = reader.integer("num_train_timesteps", 1000, 1);
  const shift = reader.number("shift", 1);
  const steps = stepCount(options, (count) => count);
  const sigmas = evenLevels(steps, trained, shift).map((sigma) => round(flowShift(sigma, shift)));
  return {
    sigmas: Float32Array.from([...sigmas, 0]),
    timesteps: sigmas.map((sigma) => round(sigma * trained)),
    initNoiseSigma: 1,
  };
}

/**
 * Returns the noise levels in 0…1 and the timesteps of a FlowMatchEulerDiscreteScheduler config: even, custom, Karras, exponential
 * or beta spacing, with a static or dynamic shift, stretched to `shift_terminal`, rising with `invert_sigmas`. Source:
 * huggingface/diffusers@58eb52c schedulers/scheduling_flow_match_euler_discrete.py `set_timesteps`.
 *
 * @throws VdError `attr`
 */
export function flowEulerTable(reader: ConfigReader, options: SamplerOptions, className: string): SigmaTable {
  const trained = reader.integer("num_train_timesteps", 1000, 1);
  const dynamic = reader.flag("use_dynamic_shifting", false);
  const steps = stepCount(options, (count) => count);
  const given = options.sigmas ?? options.timesteps?.map((timestep) => timestep / trained);
  const even = () => evenLevels(steps, trained, dynamic ? 1 : reader.number("shift", 1));
  const moved = shifted(reader, options, given ?? even(), className);
  const terminal = reader.optionalNumber("shift_terminal");
  const stretched = terminal ? stretchToTerminal(moved, terminal) : moved;
  const spacing = readSigmaSpacing(reader);
  const levels = spacing ? spacedSigmas(spacing, readSigmaRange(reader, stretched), steps) : stretched;
  const inverts = reader.flag("invert_sigmas", false);
  const sigmas = levels.map((sigma) => (inverts ? round(1 - round(sigma)) : round(sigma)));
  return {
    sigmas: Float32Array.from([...sigmas, inverts ? 1 : 0]),
    timesteps: sigmas.map((sigma) => round(sigma * trained)),
    initNoiseSigma: 1,
  };
}
