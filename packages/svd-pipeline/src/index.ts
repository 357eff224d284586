export { runInSlices } from "@vd/tensor";
export * from "./checkpoint/index";
export { type ClipPixelOptions, clipPixelValues } from "./conditioning/clip-pixel-values";
export { framesToUint8, framesToUnit } from "./conditioning/frames";
export { loadImage } from "./conditioning/load-image";
export type { RgbImage } from "./conditioning/rgb-image";
export { vaeInput, vaeInputFromTensor } from "./conditioning/vae-input";
export type { Denoiser, DenoiserCall, DenoiserFactory, DenoiserFallback, DenoiserRequest } from "./denoising/denoiser";
export { denoiserNames, registerDenoiser } from "./denoising/denoiser-registry";
export * from "./hub/index";
export * from "./models/index";
export type { ModelComponents } from "./opening/components";
export { openModelFolder } from "./opening/folder";
export { type Models, makeModels } from "./opening/models";
export { openSingleFile } from "./opening/single-file";
export { StableVideoDiffusionPipeline } from "./pipeline";
export * from "./sampling/index";
export {
  conditionStage,
  decodeStage,
  denoiseStage,
  embedImageStage,
  encodeImageStage,
  type StageShape,
} from "./stages/definitions";
export type { StageDefinition } from "./stages/stage";
export type * from "./types";
