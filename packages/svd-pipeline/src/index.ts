export { runInSlices } from "@vd/tensor";
export * from "./checkpoint/index";
export { type ClipPixelOptions, clipPixelValues, clipPixelValuesPausable } from "./conditioning/clip-pixel-values";
export { framesToUint8, framesToUint8Pausable, framesToUnit } from "./conditioning/frames";
export { BlurredRows, gaussianKernel } from "./conditioning/gaussian-blur";
export { resizeLanczos } from "./conditioning/lanczos";
export { loadImage } from "./conditioning/load-image";
export type { RgbImage } from "./conditioning/rgb-image";
export { vaeInput, vaeInputFromTensor, vaeInputPausable } from "./conditioning/vae-input";
export type { Denoiser, DenoiserCall, DenoiserFactory, DenoiserFallback, DenoiserRequest } from "./denoiser";
export { denoiserNames, registerDenoiser } from "./denoiser-registry";
export * from "./hub/index";
export type { ModelComponents } from "./model/components";
export { openModelFolder } from "./model/folder";
export { type Models, makeModels } from "./model/models";
export { openSingleFile } from "./model/single-file";
export * from "./models/index";
export { StableVideoDiffusionPipeline } from "./pipeline";
export * from "./sampling/index";
export { chooseDecodeChunk, type DecodeChunkOptions } from "./stages/decode-chunk";
export {
  conditionStage,
  decodeStage,
  denoiseStage,
  embedImageStage,
  encodeImageStage,
  type StageShape,
} from "./stages/definitions";
export { type CountedLayout, type StageCounts, stagesBefore } from "./stages/generation-stages";
export { type StageDefinition, StageLayouts } from "./stages/stage";
export type * from "./types";
