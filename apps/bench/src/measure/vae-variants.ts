import { type Device, type DType, VdError } from "@vd/kernels-native";
import type { RewriteCall } from "@vd/tensor";
import { isFp8Available, rewriteOf } from "@vd/vae-opt";
import { relativeL2 } from "../stats/summary";
import { type Contender, ourContender } from "./contenders";
import type { OurPart } from "./our-parts";

/** A way to run an autoencoder, and what loads it. */
export interface VaeVariant {
  name: string;
  /** signal: stops it, also while it runs later. */
  load(signal: AbortSignal): Promise<Contender>;
}

/** Lays out what is measured, for a type of activations and a way of recording. */
export type RecordVariant = (dtype: DType, rewrite: RewriteCall | undefined) => Omit<OurPart, "part" | "inputs">;

/** What variants are measured with. */
export interface VariantOptions {
  device: Device;
  record: RecordVariant;
  /** A result to hold them against; default: that of the plain path. */
  reference: Float32Array | undefined;
}

const NOTHING_FUSED = { fusedSilu: false, fusedUpsample: false, fusedNorm: false, winograd: false, fp8: false };
const EVERYTHING = { fusedSilu: true, fusedUpsample: true, fusedNorm: true, winograd: false, fp8: true };

const unavailable = (reason: string): VdError =>
  new VdError({ code: "unsupported", where: "vae", expected: "a device for it", got: reason });

/** Returns an autoencoder on the plain path, optimised, with 16-bit activations too, and in 8 bits, as far as the device has
 *  them. */
export function vaeVariants({ device, record, reference }: VariantOptions): VaeVariant[] {
  let compared = reference;
  interface Way {
    dtype: DType;
    rewrite?: RewriteCall | undefined;
    tuning?: false;
  }
  const load = async (name: string, signal: AbortSignal, { dtype, rewrite, tuning }: Way): Promise<Contender> => {
    const made = await ourContender(device, record(dtype, rewrite), { capture: false, name, tuning, signal });
    if (compared) made.facts.error = relativeL2(made.output, compared);
    compared ??= made.output;
    return made;
  };
  const half = async (name: string, signal: AbortSignal) => {
    if (device.kind === "cpu") throw unavailable("The CPU computes activations in float32.");
    return load(name, signal, { dtype: "f16" });
  };
  const eight = async (name: string, signal: AbortSignal) => {
    const { available, reason } = isFp8Available(device);
    if (!available) throw unavailable(reason);
    return load(name, signal, { dtype: "f16", rewrite: rewriteOf(EVERYTHING) });
  };
  const plain: Way = { dtype: "f32", rewrite: rewriteOf(NOTHING_FUSED), tuning: false };
  return [
    { name: "ours-plain", load: (signal) => load("ours-plain", signal, plain) },
    { name: "ours-optimised", load: (signal) => load("ours-optimised", signal, { dtype: "f32" }) },
    { name: "ours-optimised-fp16", load: (signal) => half("ours-optimised-fp16", signal) },
    { name: "ours-optimised-fp8", load: (signal) => eight("ours-optimised-fp8", signal) },
  ];
}
