import { VdError } from "@vd/kernels-native";
import type { Preconditioning } from "../arithmetic/preconditioning";

/** A row of noise levels with what the model is told at each. */
export interface SigmaTable {
  /** Falling, a level may repeat; one more than there are steps. float32 */
  readonly sigmas: Float32Array;
  /** One per step. */
  readonly timesteps: readonly number[];
  /** Unit noise times this is the first sample. */
  readonly initNoiseSigma: number;
}

/**
 * A model of samples data + σ·noise: its noise levels, and how its network becomes a denoiser. It is all that an update
 * rule needs, whatever the class of the model's own scheduler.
 */
export interface SigmaModel extends SigmaTable {
  /** Returns what the model is told at a noise level between those of the table. */
  timestepAt(sigma: number): number;
  /** `outputSigma` is the sample's noise level where churning raised it above σ. */
  precondition(sigma: number, outputSigma?: number): Preconditioning;
}

/** The deviation of the first sample, from the largest σ: "leading" spacing adds the data's variance. float32 */
export function initialDeviation(sigmas: Float32Array, spacing: string): number {
  const max = sigmas.reduce((a, b) => Math.max(a, b), Number.NEGATIVE_INFINITY);
  if (spacing !== "leading") return max;
  return Math.fround(Math.sqrt(Math.fround(Math.fround(max * max) + 1)));
}

/** Noise levels with the last one after them, in float32. */
export function withFinalSigma(sigmas: readonly number[], last: number): Float32Array {
  return Float32Array.from([...sigmas, last]);
}

/**
 * Checks that every level but the last is below the one before it: multistep rules divide by the length of past steps.
 *
 * @throws VdError `attr`
 */
export function requireFalling(sigmas: Float32Array, className: string): void {
  const at = sigmas.subarray(0, -1).findIndex((sigma, i) => i > 0 && sigma >= sigmas[i - 1]!);
  if (at < 0) return;
  throw new VdError({
    code: "attr",
    where: `sigmas[${at}]`,
    expected: `less than ${sigmas[at - 1]} with ${className}, which divides by the length of past steps`,
    got: String(sigmas[at]),
    hint: "Leave the repeated level out, or take a sampler of one step such as euler.",
  });
}
