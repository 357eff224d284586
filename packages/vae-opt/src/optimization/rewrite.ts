import { FLAG, requireFields } from "@vd/kernels-native";
import { type RecordCall, type RewriteCall, takeNormed, takeWinograd, withWaitingGroupNorms } from "@vd/tensor";
import { takeFloat8 } from "./float8-convolutions";
import type { OptimizationSwitches } from "./switches";
import { unfused } from "./unfused";

type ConvolutionSwitches = Pick<OptimizationSwitches, "fusedNorm" | "winograd" | "fp8">;

const SWITCHES = { fusedSilu: FLAG, fusedUpsample: FLAG, fusedNorm: FLAG, winograd: FLAG, fp8: FLAG };

/** How convolutions are recorded, by the switches that decide it. */
const convolutions = new Map<string, RewriteCall>();

function convolutionsOf({ fp8, winograd, fusedNorm }: ConvolutionSwitches): RewriteCall | undefined {
  if (!fp8 && !winograd && !fusedNorm) return undefined;
  const key = String([fp8, winograd, fusedNorm]);
  const takes = [
    fp8 && takeFloat8({ fusedNorm }),
    winograd && takeWinograd({ eachFrame: true }),
    fusedNorm && takeNormed,
  ];
  const found = convolutions.get(key) ?? withWaitingGroupNorms(...takes.filter((take) => take !== false));
  convolutions.set(key, found);
  return found;
}

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

/** Returns how a model's calls are recorded with these switches; undefined where they are recorded as they come.
 *  @throws VdError `attr` for what are no switches */
export function rewriteOf(
  switches: ConvolutionSwitches & Pick<OptimizationSwitches, "fusedSilu" | "fusedUpsample">,
): RewriteCall | undefined {
  requireFields("rewriteOf switches", switches, SWITCHES);
  const split = unfused(switches);
  const rewritten = convolutionsOf(switches);
  return split && rewritten ? after(split, rewritten) : (split ?? rewritten);
}
