import { VdError } from "@vd/kernels-native";
import type { CheckedOptions } from "../options/check-generate";
import { FAST } from "../options/fast";
import type { StageShape } from "../stages/definitions";
import { CALL_KINDS, type CallKind, type CallSavings, countCalls, savesCalls } from "./call-planner";
import type { Sampling } from "./chosen-sampling";
import type { ChosenDenoiser } from "./denoiser";

/** The calls of a generation that does not make all of them in full. */
export interface ChosenCalls {
  savings: CallSavings;
  /** Kinds of calls that there may be, the first call's first. */
  kinds: readonly CallKind[];
}

/** What checked options save. */
export function savingsOf(checked: CheckedOptions): CallSavings {
  const { guidanceMinSigma, guidanceMaxSigma, featureInterval, skipThreshold } = checked;
  return {
    guided: [guidanceMinSigma ?? 0, guidanceMaxSigma ?? Number.POSITIVE_INFINITY],
    featureInterval,
    changeThreshold: skipThreshold,
  };
}

/** The options by which a caller asked for savings. */
function askedFor(checked: CheckedOptions): string[] {
  const { guidanceMinSigma, guidanceMaxSigma, featureInterval, skipThreshold, fast } = checked;
  const isFast = (name: keyof typeof FAST) => fast && checked[name] === FAST[name];
  const asked = {
    fast,
    guidanceMinSigma: guidanceMinSigma !== undefined && !isFast("guidanceMinSigma"),
    guidanceMaxSigma: guidanceMaxSigma !== undefined,
    featureInterval: featureInterval > 1,
    skipThreshold: skipThreshold > 0 && !isFast("skipThreshold"),
  };
  return Object.keys(asked).filter((name) => asked[name as keyof typeof asked]);
}

function refuse(checked: CheckedOptions, got: string): VdError {
  const expected = "own kernels and a sampler whose steps run on the device";
  const names = askedFor(checked);
  const hint = `Leave out ${names.join(" and ")}.`;
  return new VdError({ code: "unsupported", where: names[0]!, expected, got, hint });
}

/**
 * Returns how a generation makes its calls, or undefined where each is made in full.
 *
 * @throws VdError `unsupported` where a denoiser runs elsewhere, or the sampler's steps are not linear or bound their data prediction
 */
export function callsFor(
  checked: CheckedOptions,
  { rows }: Pick<StageShape, "rows">,
  { sampler, linear }: Sampling,
  denoiser: ChosenDenoiser | undefined,
): ChosenCalls | undefined {
  const savings = savingsOf(checked);
  if (!savesCalls(savings, rows)) return undefined;
  if (denoiser?.kind === "elsewhere") throw refuse(checked, `the denoiser ${denoiser.factory.name}`);
  if (!linear) throw refuse(checked, `${sampler.className}, whose steps are taken on the host`);
  if (savings.changeThreshold > 0 && linear.hasData)
    throw refuse(checked, `${sampler.className}, which bounds its data prediction`);
  const { most } = countCalls(sampler, rows, savings);
  // After latents that a caller replaced, features are computed where they would have been reused.
  const mayBe = (kind: CallKind) =>
    most[kind] > 0 || (!kind.endsWith("reusing") && (most[`${kind}, reusing` as CallKind] ?? 0) > 0);
  return { savings, kinds: CALL_KINDS.filter(mayBe) };
}
