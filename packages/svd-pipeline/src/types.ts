import type { HubOptions } from "@vd/hub";
import type { RgbImage } from "@vd/media";
import type { GuidanceShape } from "@vd/sampling";
import type { WorkObserver } from "@vd/tensor";
import type { InferenceOptions } from "./checkpoint/index";
import type { DenoiserFactory } from "./denoiser";

/** Element type of weights and activations. On the CPU activations are always float32. */
export type Precision = "float32" | "float16" | "bfloat16";

/** How much of a GPU's memory a generation takes: `full` keeps weights there and decodes many frames at a time, `low`
 *  takes turns and decodes few. The frames are the same. */
export type MemoryUse = "full" | "low";

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

/** How to open a model. */
export interface LoadOptions {
  device?: "cpu" | "cuda" | undefined;
  /** Default: float32 on the CPU, float16 on a GPU. */
  dtype?: Precision | undefined;
  /** CPU workers; default VD_THREADS or all cores. */
  threads?: number | undefined;
  /** Which table decides the GPU's kernel variants: the path of one that was made on this device, or false for the
   *  kernels' own guess. Default: the one that comes with the package for the device. The frames are the same. */
  tuning?: string | false | undefined;
  signal?: AbortSignal | undefined;
  onProgress?: ((event: ProgressEvent) => void) | undefined;
  /** What denoises instead of this package's kernels: a name that a package has registered, such as "onnxruntime" or
   *  "tensorrt" of @vd/tensorrt, or what makes a denoiser. Default: own kernels on the device. */
  denoiser?: string | DenoiserFactory | undefined;
  /** For checkpoints in one file: what their weights cannot tell. */
  singleFile?: InferenceOptions | undefined;
  /** For models from the Hugging Face Hub. */
  hub?: Omit<HubOptions, "signal" | "onProgress" | "dtype"> | undefined;
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

/** What to generate. Everything but the picture has a default that suits the model. */
export interface GenerateOptions {
  /** A path, a picture file's bytes, or pixels. */
  image: string | Uint8Array | RgbImage;
  /** Pixels; multiples of 8. */
  width?: number | undefined;
  height?: number | undefined;
  numFrames?: number | undefined;
  /** Denoising steps. */
  steps?: number | undefined;
  /** Frames per second that the motion should fit; also the video's own rate. */
  fps?: number | undefined;
  /** How much motion, 0 to 255. */
  motionBucketId?: number | undefined;
  /** Noise added to the picture before encoding; more lets the video leave it further. */
  noiseAugStrength?: number | undefined;
  /** Guidance at the first and at the last frame; without guidance (max ≤ 1) a step costs half. */
  minGuidance?: number | undefined;
  maxGuidance?: number | undefined;
  guidance?: GuidanceShape | undefined;
  /** 0 to 2^64 − 1; the same seed gives the same bits. Default: random. */
  seed?: number | bigint | undefined;
  /** A name of samplerNames; default: the model's own. */
  sampler?: string | undefined;
  /** Noise levels instead of the model's, falling, ending in 0. */
  sigmas?: readonly number[] | undefined;
  /** Default `full`. */
  memory?: MemoryUse | undefined;
  /** Frames that the decoder's spatial layers compute at a time; the result is the same. Default: as many as the
   *  device's memory allows. */
  decodeChunk?: number | undefined;
  /** Decode each chunk as a clip of its own, so that frames on both sides of a border do not see each other: what
   *  diffusers' decode_chunk_size does. Default false. */
  isolateDecodeChunks?: boolean | undefined;
  /** Cancels within a step; generate then throws VdError `cancelled`. */
  signal?: AbortSignal | undefined;
  onProgress?: ((event: ProgressEvent) => void) | undefined;
  /** Called with the middle frame as it would look now. */
  onPreview?: ((preview: Preview) => void) | undefined;
  /** Steps between previews; default 5. */
  previewEvery?: number | undefined;
  /** Hears of every part of the work with its times and memory, such as the profiler that `createProfiler` of
   *  `@vd/profiler` makes. */
  profiler?: WorkObserver | undefined;
}

/** The defaults of a model. */
export interface GenerateDefaults {
  width: number;
  height: number;
  numFrames: number;
  steps: number;
  fps: number;
  motionBucketId: number;
  noiseAugStrength: number;
  minGuidance: number;
  maxGuidance: number;
}

/** One stage of a generation before it runs. */
export interface StagePlan {
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
export interface GenerationPlan {
  stages: StagePlan[];
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
