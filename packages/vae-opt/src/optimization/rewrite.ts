import type { RewriteCall } from "@vd/tensor";
import { float8Convolutions } from "./float8-convolutions";
import type { OptimizationSwitches } from "./switches";
import { unfused } from "./unfused";

/** One way of recording 8-bit convolutions for the whole process: weights are converted once. */
let float8: RewriteCall | undefined;

/** Returns how a model's calls are recorded with these switches; undefined where they are recorded as they come. */
export function rewriteOf(
  switches: Pick<OptimizationSwitches, "fusedSilu" | "fusedUpsample" | "fp8">,
): RewriteCall | undefined {
  const split = unfused(switches);
  if (!switches.fp8) return split;
  float8 ??= float8Convolutions();
  const eight = float8;
  return split ? (op, call, record) => split(op, call, (...inner) => eight(...inner, record)) : eight;
}
