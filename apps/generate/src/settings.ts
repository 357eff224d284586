import type { EncoderChoice } from "@vd/media";

/** What the command line and the config file say, checked one by one; `undefined` leaves the choice to the model. */
export interface Settings {
  /** Path of the picture; undefined: a sample of the bundled model. */
  image: string | undefined;
  /** Target as typed: a file name, a `%d` pattern or a folder with a slash at its end. */
  output: string;
  /** Folder, hub id or single file; undefined: the bundled model. */
  model: string | undefined;
  numFrames: number | undefined;
  steps: number | undefined;
  size: FrameSize | undefined;
  fps: number | undefined;
  motionBucketId: number | undefined;
  noiseAugStrength: number | undefined;
  guidanceRange: GuidanceRange | undefined;
  guidanceShape: GuidanceShape | undefined;
  /** As typed; the names that exist are known to the pipeline only. */
  sampler: string | undefined;
  /** 0 to 2^64 - 1; undefined: drawn at random and printed. */
  seed: bigint | undefined;
  device: Device | undefined;
  dtype: FloatType | undefined;
  decodeChunk: number | undefined;
  memory: MemoryUse | undefined;
  threads: number | undefined;
  /** `false`: none; `true`: beside the output under its default name; a string: that file. */
  preview: string | boolean;
  encoder: EncoderChoice;
  /** File for the profile of the run; undefined: none is made. */
  profile: string | undefined;
  json: boolean;
  quiet: boolean;
  dryRun: boolean;
  overwrite: boolean;
}

/** A frame's width and height in pixels, both multiples of 8. */
export interface FrameSize {
  width: number;
  height: number;
}

/** Guidance scale of the first and of the last (or middle) frame. */
export interface GuidanceRange {
  min: number;
  max: number;
}

/** How much of a GPU's memory is used. */
export type MemoryUse = "full" | "low";

export type GuidanceShape = "linear" | "triangle";
export type Device = "cpu" | "cuda";
export type FloatType = "float32" | "float16" | "bfloat16";
