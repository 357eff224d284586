import { VdError } from "@vd/kernels-native";
import { type Pausable, pausable } from "@vd/tensor";

/** The Gaussian that encoding gives for each latent element. */
export interface Posterior {
  /** The most likely latents. */
  mode: Float32Array;
  /** Standard deviation of each. */
  std: Float32Array;
  /** mean + std · noise. noise: a finite number for each element. @throws VdError `shape`, `attr` */
  sample(noise: ArrayLike<number>): Float32Array;
}

/** Log-variances are clamped to this range. Source: diffusers models/autoencoders/vae.py DiagonalGaussianDistribution. */
export const LOG_VARIANCE_RANGE = [-30, 20] as const;

/** Pixels between two pauses. */
const PIECE = 1_024;

/** Returns the most likely latents alone. Pauses after some pixels. moments: [pixels, 2·channels], means first in every
 *  pixel → [pixels, channels]. */
export const posteriorMode = pausable(function* (moments: Float32Array, channels: number): Pausable<Float32Array> {
  const numPixels = moments.length / (2 * channels);
  const mode = new Float32Array(numPixels * channels);
  for (let pixel = 0; pixel < numPixels; pixel++) {
    for (let c = 0; c < channels; c++) mode[pixel * channels + c] = moments[pixel * 2 * channels + c]!;
    if (pixel % PIECE === PIECE - 1) yield;
  }
  return mode;
});

function checkNoise(noise: ArrayLike<number>, count: number): void {
  const fail = (code: "shape" | "attr", expected: string, got: string): never => {
    throw new VdError({ code, where: "noise", expected, got });
  };
  if (noise?.length !== count) fail("shape", `${count} numbers`, String(noise?.length ?? noise));
  for (let i = 0; i < count; i++) if (!Number.isFinite(noise[i])) fail("attr", "finite numbers", `${noise[i]} at ${i}`);
}

/**
 * Splits moments into mean and deviation. moments: [pixels, 2·channels], means first in every pixel;
 * results and noise: [pixels, channels].
 *
 * @example
 * ```ts
 * import { posterior } from "@vd/vae-opt";
 *
 * const { mode, std } = posterior(Float32Array.of(0.5, -0.5, 0, 0), 2); // one pixel of two channels
 * console.log(mode, std); // [0.5, -0.5], [1, 1]
 * ```
 */
export function posterior(moments: Float32Array, channels: number): Posterior {
  const numPixels = moments.length / (2 * channels);
  const mode = posteriorMode(moments, channels);
  const std = new Float32Array(numPixels * channels);
  const [low, high] = LOG_VARIANCE_RANGE;
  for (let pixel = 0; pixel < numPixels; pixel++)
    for (let c = 0; c < channels; c++) {
      const at = pixel * channels + c;
      const logVariance = Math.min(Math.max(moments[pixel * 2 * channels + channels + c]!, low), high);
      std[at] = Math.exp(0.5 * logVariance);
    }
  const sample = (noise: ArrayLike<number>) => {
    checkNoise(noise, mode.length);
    return mode.map((mean, i) => Math.fround(mean + Math.fround(std[i]! * noise[i]!)));
  };
  return { mode, std, sample };
}
