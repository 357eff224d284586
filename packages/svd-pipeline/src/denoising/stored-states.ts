import { VdError } from "@vd/kernels-native";
import { decodeStored, type GraphLayout } from "@vd/tensor";
import type { StepperMemory } from "./stepper-memory";

/** States of a denoiser that can be read bit by bit. */
export interface StoredStates {
  layout: GraphLayout;
  readBytes(name: string): Promise<Uint8Array>;
}

/** Returns the states, but for those that `leaves` names. */
export async function savedStates(
  { layout, readBytes }: StoredStates,
  leaves: (name: string) => boolean = () => false,
): Promise<StepperMemory["tensors"]> {
  const tensors: Record<string, StepperMemory["tensors"][string]> = {};
  for (const [name, { dtype, dims }] of layout.graph.states)
    if (!leaves(name)) tensors[name] = { dtype, dims, bytes: await readBytes(name) };
  return tensors;
}

/**
 * Writes saved states, but for those that `leaves` names, which nobody reads before they are written.
 *
 * @throws VdError `weights` naming a state that was not saved
 */
export async function restoreStates(
  { graph }: GraphLayout,
  { tensors }: Pick<StepperMemory, "tensors">,
  write: (name: string, data: Float32Array) => Promise<void>,
  leaves: (name: string) => boolean = () => false,
): Promise<void> {
  for (const name of graph.states.keys()) {
    const tensor = tensors[name];
    if (tensor) await write(name, decodeStored(tensor.bytes, tensor.dtype));
    else if (!leaves(name)) {
      const expected = `the denoiser's state "${name}"`;
      throw new VdError({ code: "weights", where: "resume", expected, got: Object.keys(tensors).join(", ") });
    }
  }
}
