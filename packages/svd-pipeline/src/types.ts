import type { RgbImage } from "@vd/media";

export type { MemoryUse, Precision } from "./options/choices";
export type { GenerateDefaults, GenerateOptions, LoadOptions } from "./options/option-types.generated";

/** A moment of a generation, for progress bars. */
export interface ProgressEvent {
  stage: "download" | "load" | "encode" | "denoise" | "decode";
  /** Finished steps of the stage, 0 when it begins. */
  step: number;
  steps: number;
  /** Since the call began. */
  elapsedUs: number;
  /** What the last step took. */
  stepUs?: number;
  /** What is being done, for a log. */
  message?: string;
}

/** A look at an unfinished video. */
export interface Preview {
  /** Finished denoising steps. */
  step: number;
  width: number;
  height: number;
  numFrames: number;
  /** [F,H,W,3] in 8 bits. */
  frames: Uint8Array;
}

/** One stage of a generation before it runs. */
export interface StageEstimate {
  name: string;
  numRows: number;
  /** Activations, inputs and outputs, packed weights and working memory while the stage runs. */
  peakBytes: number;
  /** Of one run. */
  flops: number;
  /** Operands read plus results written, of one run. */
  bytes: number;
  /** How often it runs. */
  runs: number;
  /** All runs together. */
  estimatedUs: number;
}

/** A generation before it runs: nothing is computed, nothing big is allocated. */
export interface GenerationEstimate {
  stages: StageEstimate[];
  /** Weights as stored, mapped from their files. */
  weightBytes: number;
  /** The largest stage; weights as stored come on top as far as the system keeps them in its page cache. */
  peakBytes: number;
  flops: number;
  estimatedUs: number;
}

/** A finished video. */
export interface GeneratedVideo {
  width: number;
  height: number;
  numFrames: number;
  fps: number;
  seed: bigint;
  /** [F,H,W,3] in 8 bits. */
  data: Uint8Array;
  /** [F,3,H,W] in [0,1]. */
  floats(): Float32Array;
  /** Frame `i`, a view of `data`: [H,W,3]. Throws VdError `attr` for a frame that the video does not have. */
  frame(i: number): Uint8Array;
  /** Frame after frame, as pictures. */
  [Symbol.iterator](): Iterator<RgbImage>;
  /** Per stage. */
  timings: Record<string, number>;
  /** The largest stage's planned and packed memory. */
  peakBytes: number;
}
