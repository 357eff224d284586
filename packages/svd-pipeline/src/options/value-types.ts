/** The types that options have besides numbers and texts, for `option-types.generated.ts`. */

export type { HubOptions } from "@vd/hub";
export type { CpuMath } from "@vd/kernels-native";
export type { FloatImage, PictureFit, PictureSource } from "@vd/media";
export type { GuidanceShape, SamplerName, SchedulerClassName } from "@vd/sampling";
export type { DeviceName, WorkObserver } from "@vd/tensor";
export type { InferenceOptions } from "../checkpoint/index";
export type { DenoiserFactory } from "../denoising/denoiser";
export type { LoraChoice } from "../lora/merge-loras";
export type { DecodedChunk, Preview, ProgressEvent, StepEnd, StepEndResult } from "../types";
export type {
  Convolutions,
  Interpolation,
  LayerPrecision,
  MemoryUse,
  OutputType,
  Precision,
  StepNoise,
} from "./choices";
