import { COUNT, FLOATS_32, requireArgument, VdError } from "@vd/kernels-native";
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

/** Refuses what are no moments of so many channels. @throws VdError `attr` */
function requireMoments(where: string, moments: unknown, channels: unknown): void {
  requireArgument(`${where} moments`, moments, FLOATS_32);
  requireArgument(`${where} channels`, channels, COUNT);
}

/** Copies means to `mode`, [pixels, channels]. */
function* copyMeans(moments: Float32Array, channels: number, mode: Float32Array): Pausable<void> {
  const numPixels = moments.length / (2 * channels);
  for (let pixel = 0; pixel < numPixels; pixel++) {
    for (let c = 0; c < channels; c++) mode[pixel * channels + c] = moments[pixel * 2 * channels + c]!;
    if (pixel % PIECE === PIECE - 1) yield;
  }
}

/** Writes deviations to `std`, [pixels, channels]. */
function* findDeviations(moments: Float32Array, channels: number, std: Float32Array): Pausable<void> {
  const numPixels = moments.length / (2 * channels);
  const [low, high] = LOG_VARIANCE_RANGE;
  for (let pixel = 0; pixel < numPixels; pixel++) {
    for (let c = 0; c < channels; c++) {
      const logVariance = Math.min(Math.max(moments[pixel * 2 * channels + channels + c]!, low), high);
      std[pixel * channels + c] = Math.exp(0.5 * logVariance);
    }
    if (pixel % PIECE === PIECE - 1) yield;
  }
}

/** Returns the most likely latents alone. Pauses after some pixels. moments: [pixels, 2·channels], means first in every
 *  pixel → [pixels, channels]. @throws VdError `attr` for what are no moments */
export const posteriorMode = pausable(function* (moments: Float32Array, channels: number): Pausable<Float32Array> {
  requireMoments("posteriorMode", moments, channels);
  const mode = new Float32Array(moments.length / 2);
  yield* copyMeans(moments, channels, mode);
  return mode;
});

/** Splits moments into mean and deviation, as {@link posterior} does, where those are to lie. Pauses after some pixels. */
export const splitMoments = pausable(function* (
  moments: Float32Array,
  channels: number,
  { mode, std }: Pick<Posterior, "mode" | "std">,
): Pausable<void> {
  yield* copyMeans(moments, channels, mode);
  yield* findDeviations(moments, channels, std);
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
 * @throws VdError `attr` for what are no moments
 * @example
 * ```ts
 * import { posterior } from "@vd/vae-opt";
 *
 * const { mode, std } = posterior(Float32Array.of(0.5, -0.5, 0, 0), 2); // one pixel of two channels
 * console.log(mode, std); // [0.5, -0.5], [1, 1]
 * ```
 */
export function posterior(moments: Float32Array, channels: number): Posterior {
  requireMoments("posterior", moments, channels);
  const split = { mode: new Float32Array(moments.length / 2), std: new Float32Array(moments.length / 2) };
  splitMoments(moments, channels, split);
  return withSample(split);
}

/** Means and deviations as what can be sampled. */
export function withSample({ mode, std }: Pick<Posterior, "mode" | "std">): Posterior {
  const sample = (noise: ArrayLike<number>) => {
    checkNoise(noise, mode.length);
    return mode.map((mean, i) => Math.fround(mean + Math.fround(std[i]! * noise[i]!)));
  };
  return { mode, std, sample };
}
