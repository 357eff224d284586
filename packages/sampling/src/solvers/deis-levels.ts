import type { ConfigReader } from "../config";
import { refuseOptions, type SamplerOptions, stepCount } from "../options";
import { trainingSigmas } from "../schedule/alphas";
import { interpolate, roundHalfEven } from "../schedule/ranges";
import { readSigmaSpacing } from "../schedule/sigmas";
import { readTimestepSpacing, solverTimesteps } from "../schedule/timesteps";
import { checkFlowMu, flowLevels } from "./flow-levels";
import { type Levels, respacedLevels, type SolverTable, solverTable } from "./solver-levels";

const className = "DEISMultistepScheduler";

function respaced(reader: ConfigReader, options: SamplerOptions, trained: Float32Array, steps: number): Levels {
  const spacing = readSigmaSpacing(reader);
  if (spacing === undefined) return flowLevels(reader, options, steps);
  const made = respacedLevels(reader, spacing, trained, steps);
  return spacing === "karras" ? { ...made, timesteps: made.timesteps.map(roundHalfEven) } : made;
}

/**
 * Returns the noise levels and integer timesteps of a DEISMultistepScheduler config: Karras, exponential, beta or flow spacing, of
 * which the last level is repeated, or the training schedule's own. Source: huggingface/diffusers@58eb52c
 * schedulers/scheduling_deis_multistep.py `set_timesteps`.
 *
 * @throws VdError `attr`, `unsupported`
 */
export function deisTable(reader: ConfigReader, options: SamplerOptions, alphas: Float32Array): SolverTable {
  refuseOptions(options, className, ["sigmas", "timesteps"]);
  checkFlowMu(reader, options, className);
  const trained = trainingSigmas(alphas);
  const steps = stepCount(options, (count) => count);
  if (readSigmaSpacing(reader) !== undefined || reader.flag("use_flow_sigmas", false)) {
    const levels = respaced(reader, options, trained, steps);
    return solverTable(levels, levels.sigmas.at(-1)!);
  }
  const spacing = readTimestepSpacing(reader, "linspace");
  const offset = reader.integer("steps_offset", 0, 0);
  const timesteps = solverTimesteps({ spacing, steps, trained: alphas.length, offset });
  return solverTable({ timesteps, sigmas: timesteps.map((at) => interpolate(at, trained)) }, trained[0]!);
}
