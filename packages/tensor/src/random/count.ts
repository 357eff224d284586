import { VdError } from "@vd/kernels-native";

/**
 * Passes a count of elements on.
 *
 * @throws VdError `attr` for anything but an integer of at least 0
 */
export function checkedCount(count: number): number {
  if (Number.isSafeInteger(count) && count >= 0) return count;
  throw new VdError({ code: "attr", where: "randn", expected: "a count of elements", got: String(count) });
}
