import { normedConvolutions, type RecordCall, type RewriteCall, winogradConvolutions } from "@vd/tensor";
import { float8Convolutions } from "./float8-convolutions";
import type { OptimizationSwitches } from "./switches";
import { unfused } from "./unfused";

/** One way of recording 8-bit convolutions for the whole process: weights are converted once. */
let float8: RewriteCall | undefined;

const winograd = winogradConvolutions();
const normed = normedConvolutions();

/** Sends every call through one rewriting, and what that records through the next. */
const after = (outer: RewriteCall, inner: RewriteCall): RewriteCall => {
  const through = new WeakMap<RecordCall, RecordCall>();
  const both: RewriteCall = (op, call, record) => {
    const next = through.get(record) ?? ((...recorded) => inner(...recorded, record));
    through.set(record, next);
    return outer(op, call, next);
  };
  both.finish = (record) => {
    const next = through.get(record);
    if (next) outer.finish?.(next);
    inner.finish?.(record);
  };
  return both;
};

/** Returns how a model's calls are recorded with these switches; undefined where they are recorded as they come. */
export function rewriteOf(
  switches: Pick<OptimizationSwitches, "fusedSilu" | "fusedUpsample" | "fusedNorm" | "winograd" | "fp8">,
): RewriteCall | undefined {
  const rewritings: RewriteCall[] = [];
  const split = unfused(switches);
  if (split) rewritings.push(split);
  if (switches.fp8) {
    float8 ??= float8Convolutions();
    rewritings.push(float8);
  }
  if (switches.winograd) rewritings.push(winograd);
  if (switches.fusedNorm) rewritings.push(normed);
  return rewritings.length > 0 ? rewritings.reduce(after) : undefined;
}
