import { join } from "node:path";
import type { CheckedOptions } from "../options/check-generate";
import type { GenerateOptions } from "../types";
import { removeState } from "./resume/state-folder";

/** Bytes of a pixel's three channels, in 8 bits and as the device stored them at most. */
const BYTES_PER_PIXEL = 3 * (1 + Float32Array.BYTES_PER_ELEMENT);

/** Returns the options of video `video` of `videos`, whose progress events say which one they are about. */
export function numberedOptions(options: GenerateOptions, video: number, videos: number): GenerateOptions {
  const { onProgress } = options;
  return onProgress ? { ...options, onProgress: (event) => onProgress({ ...event, video, videos }) } : options;
}

/** Returns the options of video `video`, from 1, with a state of its own: one folder for each video, below the batch's. */
export function withOwnState(options: GenerateOptions, video: number): GenerateOptions {
  const { resume } = options;
  return resume === undefined ? options : { ...options, resume: join(resume, `video-${video}`), keepState: true };
}

/** Removes the states of all videos of a batch that has succeeded, unless they are to be kept. */
export async function removeStates({ resume, keepState }: GenerateOptions, numVideos: number): Promise<void> {
  if (resume === undefined || keepState) return;
  for (let video = 1; video <= numVideos; video++) await removeState(join(resume, `video-${video}`));
  await removeState(resume);
}

/** Returns the bytes at most that a finished video keeps. */
export function resultBytes({ outputType, numFrames, width, height }: CheckedOptions): number {
  return outputType === "latent" ? 0 : numFrames * width * height * BYTES_PER_PIXEL;
}
