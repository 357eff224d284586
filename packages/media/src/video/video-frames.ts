import {
  COUNT,
  FUNCTION,
  optional,
  requireFields,
  SIGNAL,
  TEXT,
  VdError,
  type Wanted,
  type WantedFields,
} from "@vd/kernels-native";
import { SIZE } from "../pictures/rgb-image";

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

/** What a rate must be. */
export const FPS: Wanted = {
  expected: "frames a second above 0",
  fits: (value) => Number.isFinite(value) && (value as number) > 0,
};

const VIDEO: WantedFields = { ...SIZE, numFrames: COUNT, fps: FPS };

/** What {@link EncodeOptions} must be. */
export const ENCODE_OPTIONS: WantedFields = {
  signal: optional(SIGNAL),
  onFrame: optional(FUNCTION),
  comment: optional(TEXT),
};

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

const noVideo = (code: "attr" | "shape", where: string, expected: string, got: unknown): VdError =>
  new VdError({ code, where: `video] [${where}`, expected, got: String(got) });

/**
 * Checks what an encoder is given, before any work.
 *
 * @throws VdError `attr` for sizes, counts and rates that are none, and for options that are none
 */
export function requireEncoding(video: VideoFrames, options: EncodeOptions): void {
  if (typeof video !== "object" || video === null || typeof video.frame !== "function")
    throw noVideo("attr", "frame", "a video with a function that gives its frames", typeof video);
  requireFields("video", video, VIDEO);
  requireFields("video options", options, ENCODE_OPTIONS);
}

/**
 * Checks a video before any work, and its frames as an encoder takes them: some encoders write whatever lies behind too short a frame.
 *
 * @throws VdError `attr` for sizes, counts, rates and options that are none, `shape` in `frame(i)` for a frame of another length
 */
export function checkedVideo(video: VideoFrames, options: EncodeOptions): VideoFrames {
  requireEncoding(video, options);
  const { width, height, numFrames, fps } = video;
  const count = width * height * 3;
  return {
    ...{ width, height, numFrames, fps },
    get data() {
      return video.data;
    },
    frame(i) {
      const frame = video.frame(i);
      if (frame instanceof Uint8Array && frame.length === count) return frame;
      const got = frame instanceof Uint8Array ? `${frame.length} bytes` : typeof frame;
      throw noVideo("shape", `frame ${i}`, `${count} bytes for ${width}x${height} pixels of three`, got);
    },
  };
}
