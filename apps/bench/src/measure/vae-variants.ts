import { VdError } from "@vd/kernels-native";
import type { RewriteCall, Tuning } from "@vd/tensor";
import { isFp8Available, unfused } from "@vd/vae-opt";
import { relativeL2 } from "../stats/summary";
import { type Contender, ourContender } from "./contenders";
import { type PartContext, plainPart } from "./our-parts";

/** A way to run the autoencoder, and what loads it. */
export interface VaeVariant {
  name: string;
  load(): Promise<Contender>;
}

const NOTHING_FUSED = { fusedSilu: false, fusedUpsample: false };

const unavailable = (reason: string): VdError =>
  new VdError({ code: "unsupported", where: "vae", expected: "a device for it", got: reason });

/**
 * Returns the autoencoder on the plain path, optimised, with 16-bit activations too, and in 8 bits, as far as the device has
 * them. reference: a result to hold them against.
 */
export function vaeVariants(
  context: PartContext,
  part: "vae" | "encode",
  reference: Float32Array | undefined,
  signal: AbortSignal,
): VaeVariant[] {
  const { device } = context;
  const load = async (
    name: string,
    {
      dtype = "f32" as PartContext["dtype"],
      tuning = undefined as Tuning,
      rewrite = undefined as RewriteCall | undefined,
    },
  ): Promise<Contender> => {
    const made = await ourContender(device, plainPart({ ...context, dtype }, part, rewrite), {
      ...{ capture: false, name, tuning, signal },
    });
    if (reference) made.facts.error = relativeL2(made.output, reference);
    return made;
  };
  const half = async (name: string) => {
    if (device.kind === "cpu") throw unavailable("The CPU computes activations in float32.");
    return load(name, { dtype: "f16" });
  };
  const eight = async (): Promise<Contender> => {
    const { available, reason } = isFp8Available(device);
    throw unavailable(available ? "Autoencoders do not use them yet." : reason);
  };
  return [
    { name: "ours-plain", load: () => load("ours-plain", { tuning: false, rewrite: unfused(NOTHING_FUSED) }) },
    { name: "ours-optimised", load: () => load("ours-optimised", {}) },
    { name: "ours-optimised-fp16", load: () => half("ours-optimised-fp16") },
    { name: "ours-optimised-fp8", load: eight },
  ];
}
