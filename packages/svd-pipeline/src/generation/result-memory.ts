import { allocateFloats, touchFloats } from "@vd/kernels-native";
import { type Plan, packedBytes } from "@vd/tensor";

/**
 * Returns memory of the machine for the bytes of a plan's output, which the operating system gives while the plan runs: where it came as it is
 * read into, reading would take twice as long. It is whoever's who gets the result.
 *
 * @throws VdError `memory`
 */
export function memoryForOutput(plan: Plan, name: string): Uint8Array<ArrayBuffer> {
  const { dims, dtype } = plan.layout.graph.outputs.get(name)!;
  const bytes = packedBytes(dims, dtype);
  const floats = allocateFloats(Math.ceil(bytes / Float32Array.BYTES_PER_ELEMENT));
  // Without that the memory comes as it is read into.
  touchFloats(floats).catch(() => undefined);
  return new Uint8Array(floats.buffer as ArrayBuffer, 0, bytes);
}
