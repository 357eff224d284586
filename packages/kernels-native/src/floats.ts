import { callNative } from "./errors";
import { loadAddon } from "./load";

/**
 * Returns the largest magnitude of `values`, NaN where one is not a number, 0 of none.
 *
 * @throws VdError `attr` for what is no Float32Array
 */
export function largestMagnitude(values: Float32Array): number {
  return callNative(() => loadAddon().largestMagnitude(values));
}
