import { allocateFloats, requireArgument, touchFloats, wholeFrom } from "@vd/kernels-native";

/**
 * Returns memory of the machine for bytes that a device will be read into, which the operating system gives meanwhile: where it came as it is read
 * into, reading would take twice as long. It is whoever's who gets the result.
 *
 * @throws VdError `memory`, `attr` for what is no number of bytes
 */
export function touchedBytes(bytes: number): Uint8Array<ArrayBuffer> {
  requireArgument("touchedBytes bytes", bytes, wholeFrom(0));
  const floats = allocateFloats(Math.ceil(bytes / Float32Array.BYTES_PER_ELEMENT));
  // Without that the memory comes as it is read into.
  touchFloats(floats).catch(() => undefined);
  return new Uint8Array(floats.buffer as ArrayBuffer, 0, bytes);
}
