import { awaitNative, callNative } from "./errors";
import { loadAddon } from "./load";

/**
 * Returns the largest magnitude of `values`, NaN where one is not a number, 0 of none.
 *
 * @throws VdError `attr` for what is no Float32Array
 */
export function largestMagnitude(values: Float32Array): number {
  return callNative(() => loadAddon().largestMagnitude(values));
}

/**
 * `count` zeros in memory of the addon's, into which {@link DeviceBuffer.readCheckedFloats} reads in place, on a worker. Its pages cost nothing until
 * they are touched.
 *
 * @throws VdError `memory`, `attr` for what is no count
 * @example
 * ```ts
 * import { allocateBuffer, allocateFloats, touchFloats } from "@vd/kernels-native";
 *
 * const values = allocateFloats(8);
 * await touchFloats(values); // best while a device computes
 * const buffer = allocateBuffer(8);
 * await buffer.writeFloats(Float32Array.of(1, 2, 3, 4), "f16");
 * await buffer.readCheckedFloats({ dtype: "f16", pixels: 2, channels: 2 }, values.subarray(4));
 * console.log(values); // 0 0 0 0 1 2 3 4
 * ```
 */
export function allocateFloats(count: number): Float32Array {
  return callNative(() => loadAddon().allocateFloats(count));
}

/**
 * Has the operating system give the memory of an array of {@link allocateFloats}, or of a part of one, off the event loop and by several threads: what is read
 * into it then need not wait for that. The numbers stay as they are. Does nothing to other arrays.
 *
 * @throws VdError `attr` for what is no Float32Array
 */
export function touchFloats(values: Float32Array): Promise<void> {
  return awaitNative(() => loadAddon().touchFloats(values));
}
