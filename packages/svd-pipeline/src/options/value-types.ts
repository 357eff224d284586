/** The types that options have besides numbers and texts, for `option-types.generated.ts`. */

export type { HubOptions } from "@vd/hub";
export type { DeviceKind } from "@vd/kernels-native";
export type { PictureFit, RgbImage } from "@vd/media";
export type { GuidanceShape } from "@vd/sampling";
export type { WorkObserver } from "@vd/tensor";
export type { InferenceOptions } from "../checkpoint/index";
export type { DenoiserFactory } from "../denoising/denoiser";
export type { Preview, ProgressEvent } from "../types";
export type { MemoryUse, Precision } from "./choices";
