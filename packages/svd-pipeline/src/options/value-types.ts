/** The types that options have besides numbers and texts, for `option-types.generated.ts`. */

export type { HubOptions } from "@vd/hub";
export type { CpuMath } from "@vd/kernels-native";
export type { FloatImage, PictureFit, PictureSource } from "@vd/media";
export type { GuidanceShape, SamplerName, SchedulerClassName } from "@vd/sampling";
export type { WorkObserver } from "@vd/tensor";
export type { InferenceOptions } from "../checkpoint/index";
export type { DenoiserFactory } from "../denoising/denoiser";
export type { LoraChoice } from "../lora/merge-loras";
// With the choices: programs take them from there too.
export type * from "../types";
