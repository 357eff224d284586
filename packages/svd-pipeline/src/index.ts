export { runInSlices } from "@vd/tensor";
export * from "./checkpoint/index";
export { type ClipPixelOptions, clipPixelValues, clipPixelValuesPausable } from "./conditioning/clip-pixel-values";
export { framesToUint8, framesToUint8Pausable, framesToUnit } from "@vd/media";
export { loadImage } from "@vd/media";
export type { RgbImage } from "@vd/media";
export { vaeInput, vaeInputFromTensor, vaeInputPausable } from "./conditioning/vae-input";
export type { Denoiser, DenoiserCall, DenoiserFactory, DenoiserFallback, DenoiserRequest } from "./denoiser";
export { denoiserNames, registerDenoiser } from "./denoiser-registry";
export * from "@vd/hub";
export type { ModelComponents } from "./model/components";
export { openModelFolder } from "./model/folder";
export { type Models, makeModels } from "./model/models";
export { openSingleFile } from "./model/single-file";
export * from "./models/index";
export { StableVideoDiffusionPipeline } from "./pipeline";
export * from "@vd/sampling";
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
