import { VdError } from "@vd/kernels-native";
import type { ConfigReader } from "../config";
import type { SamplerOptions } from "../options";
import { flowShift } from "../schedule/flow-shift";
import { linspace } from "../schedule/ranges";
import type { Levels } from "./solver-levels";

/**
 * Checks that the shift option `mu` is given only to a config that shifts by it.
 *
 * @throws VdError `attr`
 */
export function checkFlowMu(reader: ConfigReader, options: SamplerOptions, className: string): void {
  const dynamic = reader.flag("use_dynamic_shifting", false);
  reader.choice("time_shift_type", ["exponential"], "exponential");
  if (options.mu === undefined || dynamic) return;
  const where = `${className}.use_dynamic_shifting`;
  throw new VdError({ code: "attr", where, expected: "true where mu is given", got: String(dynamic) });
}

/** Returns the levels of a solver with `use_flow_sigmas`, shifted by `flow_shift` or the option `mu`. */
export function flowLevels(reader: ConfigReader, options: SamplerOptions, steps: number): Levels {
  const trained = reader.integer("num_train_timesteps", 1000, 1);
  const shift = options.mu === undefined ? reader.number("flow_shift", 1) : Math.exp(options.mu);
  const rising = linspace(1, 1 / trained, steps + 1).map((alpha) => 1 - alpha);
  const sigmas = rising
    .map((sigma) => flowShift(sigma, shift))
    .reverse()
    .slice(0, -1);
  return { sigmas, timesteps: sigmas.map((sigma) => sigma * trained) };
}
