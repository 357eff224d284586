import type { FrameGuard } from "../model/record-frame";
import type { GuardAmounts } from "./frame-maker";
import type { DriftGuardOptions } from "./types";

/** What holds a game together if nothing else is said. */
export const DEFAULT_GUARD: GuardAmounts = { renoise: 0, anchor: 0, recover: 0.05 };

/** Nothing of it. */
export const NO_GUARD: GuardAmounts = { renoise: 0, anchor: 0, recover: 0 };

/** The amounts of a guard once `guard` is asked for: what it leaves out stays as it is `before`. */
export function guardWith(before: GuardAmounts, guard: DriftGuardOptions | boolean | undefined): GuardAmounts {
  if (guard === undefined) return before;
  if (typeof guard === "boolean") return guard ? DEFAULT_GUARD : NO_GUARD;
  const { renoise = before.renoise, anchor = before.anchor, recover = before.recover } = guard;
  return { renoise, anchor, recover };
}

/** The guard's rows that frames with these amounts need. */
export const guardRows = ({ renoise, anchor, recover }: GuardAmounts): FrameGuard => ({
  renoise: renoise > 0,
  hold: anchor > 0 || recover > 0,
});
