import { VdError } from "@vd/kernels-native";
import type { ConfigReader } from "../config";
import { numberOption, type SamplerOptions, stepCount } from "../options";
import { fallingTimesteps } from "./timesteps";

/** The timesteps of a consistency-distilled model. */
export interface DistilledTimesteps {
  readonly timesteps: readonly number[];
  /** The step at whose index no noise is drawn any more is this minus 1. */
  readonly steps: number;
}

function attr(where: string, expected: string, got: unknown): VdError {
  return new VdError({ code: "attr", where, expected, got: String(got) });
}

/** Custom timesteps: falling, below the training count; `strength` keeps the end of them. */
function customTimesteps(given: readonly number[], trained: number, strength: number): DistilledTimesteps {
  const timesteps = fallingTimesteps(given, trained);
  const kept = Math.min(Math.trunc(given.length * strength), given.length);
  return {
    timesteps: timesteps.slice(given.length - kept),
    steps: given.length,
  };
}

/**
 * Integer timesteps evenly picked from those of the distillation (`original_inference_steps`), falling. With `dense`,
 * an explicit `originalSteps` makes every training timestep a candidate, as TCD has it. Source:
 * huggingface/diffusers@58eb52c schedulers/scheduling_lcm.py and scheduling_tcd.py `set_timesteps`.
 *
 * @throws VdError `attr` when more steps are asked for than the distillation had, or than the strength leaves
 */
export function distilledTimesteps(reader: ConfigReader, options: SamplerOptions, dense: boolean): DistilledTimesteps {
  const trained = reader.integer("num_train_timesteps", 1000, 1);
  const original = options.originalSteps ?? reader.integer("original_inference_steps", 50, 1);
  const strength = numberOption(options.strength, "strength", 1, 0, 1);
  if (!Number.isInteger(original) || original < 1 || original > trained) {
    throw attr("originalSteps", `an integer in 1…${trained}`, original);
  }
  if (options.timesteps !== undefined) return customTimesteps(options.timesteps, trained, strength);
  const steps = stepCount(options, (count) => count);
  const stride = Math.floor(trained / original);
  const isDense = dense && options.originalSteps !== undefined;
  const whole = isDense ? trained : original;
  const left = Math.trunc(whole * strength);
  if (steps > original) throw attr("steps", `at most the ${original} steps of the distillation`, steps);
  if (steps > left) {
    const least = Number((steps / whole).toPrecision(3));
    throw attr("strength", `about ${least} or more, which leaves at least ${steps} of ${whole} timesteps`, strength);
  }
  const candidates = Array.from({ length: left }, (_, i) => (isDense ? i : (i + 1) * stride - 1));
  candidates.reverse();
  const spacing = candidates.length / steps;
  return { timesteps: Array.from({ length: steps }, (_, i) => candidates[Math.floor(i * spacing)]!), steps };
}
