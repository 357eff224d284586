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
  /** Ends what runs elsewhere and knows of no signal. */
  stop?(): void;
}

/** Holds results against a reference, or, where there is none, against the first of them. */
export class Comparison {
  constructor(private reference: Float32Array | undefined) {}

  /** The fact of a row, the relative L2 distance; none for what the others are held against. */
  of(output: Float32Array): { error?: number } {
    const { reference } = this;
    this.reference ??= output;
    return reference ? { error: relativeL2(output, reference) } : {};
  }
}

/** Lays out what is measured, for a type of activations and a way of recording. */
export type RecordVariant = (dtype: DType, rewrite: RewriteCall | undefined) => Omit<OurPart, "part" | "inputs">;

/** What variants are measured with. */
export interface VariantOptions {
  device: Device;
  record: RecordVariant;
  /** What their results are held against. */
  comparison: Comparison;
}

const NOTHING_FUSED = { fusedSilu: false, fusedUpsample: false, fusedNorm: false, winograd: false, fp8: false };
const EVERYTHING = { fusedSilu: true, fusedUpsample: true, fusedNorm: true, winograd: false, fp8: true };

/** How calls are recorded so that nothing is fused: op by op, as PyTorch runs them without a compiler. */
export const opByOp = (): RewriteCall | undefined => rewriteOf(NOTHING_FUSED);

const unavailable = (reason: string): VdError =>
  new VdError({ code: "unsupported", where: "vae", expected: "a device for it", got: reason });

/** Returns an autoencoder on the plain path, optimised, with 16-bit activations too, and in 8 bits, as far as the device has
 *  them. */
export function vaeVariants({ device, record, comparison }: VariantOptions): VaeVariant[] {
  interface Way {
    dtype: DType;
    rewrite?: RewriteCall | undefined;
    tuning?: false;
  }
  const load = async (name: string, signal: AbortSignal, { dtype, rewrite, tuning }: Way): Promise<Contender> => {
    const made = await ourContender(device, record(dtype, rewrite), { capture: false, name, tuning, signal });
    Object.assign(made.facts, comparison.of(made.output));
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
  const plain: Way = { dtype: "f32", rewrite: opByOp(), tuning: false };
  return [
    { name: "ours-plain", load: (signal) => load("ours-plain", signal, plain) },
    { name: "ours-optimised", load: (signal) => load("ours-optimised", signal, { dtype: "f32" }) },
    { name: "ours-optimised-fp16", load: (signal) => half("ours-optimised-fp16", signal) },
    { name: "ours-optimised-fp8", load: (signal) => eight("ours-optimised-fp8", signal) },
  ];
}
