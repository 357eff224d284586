/** The types that options have besides numbers and texts, for `option-types.generated.ts`. */
export type { DeviceKind } from "@vd/kernels-native";
export type { WorkObserver } from "@vd/tensor";
export type { InferenceOptions } from "../checkpoint/index";
export type { RgbImage } from "../conditioning/rgb-image";
export type { DenoiserFactory } from "../denoiser";
export type { HubOptions } from "../hub/index";
export type { GuidanceShape } from "../sampling/index";
export type { Preview, ProgressEvent } from "../types";
export type { MemoryUse, Precision } from "./choices";
