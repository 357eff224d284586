import { VdError } from "@vd/kernels-native";

/** The frames of a video in memory. */
export interface VideoFrames {
  width: number;
  height: number;
  numFrames: number;
  /** Frames a second. */
  fps: number;
  /** [F,H,W,3] in 8 bits. */
  data: Uint8Array;
  /** Frame `i`, a view of `data`: [H,W,3]. */
  frame(i: number): Uint8Array;
}

/** What an encoder needs besides the frames. */
export interface EncodeOptions {
  signal?: AbortSignal | undefined;
  /** Called after each frame with the number of frames done. */
  onFrame?: ((numDone: number) => void) | undefined;
  /** A text that the file keeps beside the video, in printable ASCII: {@link readComment} finds it. */
  comment?: string | undefined;
}

/** Lets timers, signals and I/O run between two frames of work on the main thread. @throws the signal's reason. */
export async function breathe(options: EncodeOptions): Promise<void> {
  await new Promise((resolve) => setImmediate(resolve));
  options.signal?.throwIfAborted();
}

/**
 * Makes sure that 4:2:0 formats can store the frames: they have one chroma sample for 2 x 2 pixels.
 * @throws VdError `shape` for odd sides.
 */
export function requireEvenSize({ width, height }: VideoFrames): void {
  if (width % 2 === 0 && height % 2 === 0) return;
  const hint = "Use an even size, or write .webp, .gif or .png.";
  throw new VdError({ code: "shape", where: "video", expected: "even sides", got: `${width}x${height}`, hint });
}
