import { VdError } from "@vd/kernels-native";
import type { GeneratedVideo } from "@vd/svd-pipeline";

/** The part of a generated video that the encoders read. */
export type VideoFrames = Pick<GeneratedVideo, "width" | "height" | "numFrames" | "fps" | "data" | "frame">;

/** What an encoder needs besides the frames. */
export interface EncodeOptions {
  signal?: AbortSignal | undefined;
  /** Called after each frame with the number of frames done. */
  onFrame?: ((numDone: number) => void) | undefined;
}

/** Lets timers, signals and I/O run between two frames of work on the main thread; throws when cancelled. */
export async function breathe(options: EncodeOptions): Promise<void> {
  await new Promise((resolve) => setImmediate(resolve));
  options.signal?.throwIfAborted();
}

/** 4:2:0 stores one chroma sample for 2 x 2 pixels. Generated sizes are multiples of 8, so this guards other callers. */
export function requireEvenSize({ width, height }: VideoFrames): void {
  if (width % 2 === 0 && height % 2 === 0) return;
  const hint = "Use an even size, or write .webp, .gif or .png";
  throw new VdError({ code: "shape", where: "--size", expected: "even sides", got: `${width}x${height}`, hint });
}
