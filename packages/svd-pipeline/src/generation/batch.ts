import type { CheckedOptions } from "../options/check-generate";
import type { GenerateOptions } from "../types";

/** Bytes of a pixel's three channels, in 8 bits and as the device stored them at most. */
const BYTES_PER_PIXEL = 3 * (1 + Float32Array.BYTES_PER_ELEMENT);

/** Returns the options of video `video` of `videos`, whose progress events say which one they are about. */
export function numberedOptions(options: GenerateOptions, video: number, videos: number): GenerateOptions {
  const { onProgress } = options;
  return onProgress ? { ...options, onProgress: (event) => onProgress({ ...event, video, videos }) } : options;
}

/** Returns the bytes at most that a finished video keeps. */
export function resultBytes({ outputType, numFrames, width, height }: CheckedOptions): number {
  return outputType === "latent" ? 0 : numFrames * width * height * BYTES_PER_PIXEL;
}
