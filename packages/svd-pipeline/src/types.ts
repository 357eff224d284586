import type { Readable } from "node:stream";
import type { FileFormat, RgbImage, WrittenVideo } from "@vd/media";
import type { CallCounts } from "./denoising/call-planner";
import type { VideoEncodeOptions, VideoSaveOptions } from "./generation/video-files";
import type { BatchLists, GenerateOptions } from "./options/option-types.generated";

export type { DeviceName } from "@vd/tensor";
export type { CallCounts, CallKind } from "./denoising/call-planner";
export type {
  Convolutions,
  Interpolation,
  LayerPrecision,
  MemoryUse,
  OutputType,
  Precision,
  StepNoise,
} from "./options/choices";
export type { BatchLists, GenerateDefaults, GenerateOptions, LoadOptions } from "./options/option-types.generated";

/** What to generate from several pictures or seeds by one call. */
export type BatchOptions = Omit<GenerateOptions, "image" | "seed" | "latents"> & BatchLists;

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
  /** In a batch: which video this is about, from 1, and of how many. */
  video?: number;
  videos?: number;
}

/** A finished denoising step. */
export interface StepEnd {
  /** From 1. */
  step: number;
  steps: number;
  /** What the model was told of the noise level at the step's last call. */
  timestep: number;
  /** A copy of the latents after the step, [F,C,H/8,W/8]. */
  latents: Float32Array;
}

/** Latents that take the place of those after the step, [F,C,H/8,W/8]; undefined leaves them. */
// biome-ignore lint/suspicious/noConfusingVoidType: a callback may return nothing.
export type StepEndResult = Float32Array | undefined | void;

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

/** Frames that were decoded together. */
export interface DecodedChunk {
  /** Index of the first one in the video. */
  first: number;
  numFrames: number;
  width: number;
  height: number;
  /** [F,H,W,3] in 8 bits. */
  frames: Uint8Array;
}

/** What happens in a generation. */
export type GenerationEvent =
  | ({ type: "progress" } & ProgressEvent)
  | ({ type: "preview" } & Preview)
  | ({ type: "frames" } & DecodedChunk)
  | { type: "video"; video: GeneratedVideo };

/** One stage of a generation before it runs. */
export interface StageEstimate {
  name: string;
  /** With several devices the one that runs it. */
  device?: string;
  numRows: number;
  /** Activations, inputs and outputs, packed weights and working memory while the stage runs. */
  peakBytes: number;
  /** Of one run. */
  flops: number;
  /** Operands read plus results written, of one run. */
  bytes: number;
  /** How often it runs; at most, where that is decided while it runs. */
  runs: number;
  /** How often it runs at least, where that is decided while it runs (`skipThreshold`). */
  fewestRuns?: number;
  /** All runs together. */
  estimatedUs: number;
}

/** What one of several devices does in a generation. */
export interface DeviceEstimate {
  /** Its name: `cuda:1`, `cpu:0`. */
  device: string;
  /** Rows of guidance that it denoises: 0 is the unconditional one, 1 the conditional one. */
  rows: readonly number[];
  /** Frames that it decodes; undefined where it has none. */
  frames: readonly [begin: number, end: number] | undefined;
  /** The largest of its stages. */
  peakBytes: number;
  /** Weights that it takes in, as stored. */
  weightBytes: number;
  /** What it gets from other devices in the whole generation. */
  receivedBytes: number;
  /** Its own work. */
  estimatedUs: number;
  /** The part of the generation's time that it is at work, 0 to 1; it waits for the other devices in the rest. */
  share: number;
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
  /** Bytes of weights in page-locked memory of the machine, from which a GPU streams them; absent where none are streamed. */
  pinnedBytes?: number;
  /** Whether they stay there for the next generation, which needs not pack them again: while the machine has memory for them. */
  keepsPinned?: boolean;
  /** What does not go together of checkpoint, sampler, steps and guidance, as sentences. */
  warnings: readonly string[];
  /** What each device does, where there are several. */
  devices?: DeviceEstimate[];
}

/** A finished video; with `outputType: "latent"` its latents alone. */
export interface GeneratedVideo {
  width: number;
  height: number;
  numFrames: number;
  fps: number;
  seed: bigint;
  /** The first frame of each clip but the first, where the video was made clip by clip; 0 where a loop is tied together. */
  seams: readonly number[];
  /** [F,H,W,3] in 8 bits; empty with `outputType: "latent"`. */
  data: Uint8Array;
  /** The clean latents, [F,C,H/8,W/8], not divided by the autoencoder's scale; with `outputType: "latent"` only. */
  latents?: Float32Array;
  /** [F,3,H,W] in [0,1]. Throws VdError `unsupported` where nothing was decoded. */
  floats(): Float32Array;
  /** Frame `i`, a view of `data`: [H,W,3]. Throws VdError `attr` for a frame that the video does not have, `unsupported` where
   *  nothing was decoded. */
  frame(i: number): Uint8Array;
  /**
   * Writes the video as a file, whole or not at all: .mp4, .webm, .gif or .webp by the name's ending, PNG frames for
   * `frame-%03d.png` or `folder/`.
   *
   * @throws VdError `attr` for another name, `io` for a place that cannot be written to, `shape` for odd sides of .mp4 and .webm,
   *   `unsupported` where the encoder is not installed or nothing was decoded; the signal's reason when it is cancelled
   * @example
   * ```ts
   * const video = await pipeline.generate({ image: "start.png" });
   * await video.save("clip.mp4");
   * ```
   */
  save(path: string, options?: VideoSaveOptions): Promise<WrittenVideo>;
  /** Returns the bytes of the video as a file. Throws as {@link save}, but for `io`. */
  toBuffer(format: FileFormat, options?: VideoEncodeOptions): Promise<Buffer>;
  /** Returns a stream of the bytes of the video as a file, which is encoded once the stream is read; what {@link toBuffer} throws is the
   *  stream's error. */
  toStream(format: FileFormat, options?: VideoEncodeOptions): Readable;
  /** Frame after frame, as pictures. */
  [Symbol.iterator](): Iterator<RgbImage>;
  /** How the denoiser's calls were made: in full, in part, or not at all. */
  denoiserCalls: Readonly<CallCounts>;
  /** Per stage. */
  timings: Record<string, number>;
  /** The largest stage's planned and packed memory; with several devices that of the one that takes most. */
  peakBytes: number;
}
