export {
  type DownloadProgress,
  type ExportSource,
  exportBytes,
  HUB_ENVIRONMENT_VARIABLES,
  type HubOptions,
  type HubTuning,
  type MadeSource,
  type ProgressListener,
  type ResolvedModel,
  resolveModel,
  type StoredSource,
  selectModelFiles,
  selectWeightFiles,
  sourceBytes,
  sourceRange,
  type TensorEntry,
  type TensorSource,
  type WeightFormat,
} from "@vd/hub";
export { framesToUint8, framesToUint8Pausable, framesToUnit, loadImage, type RgbImage } from "@vd/media";
export {
  createSampler,
  findSampler,
  type GuidanceShape,
  guidanceScales,
  type LatentDtype,
  linearGuidance,
  type Sampler,
  type SamplerOptions,
  type SamplerState,
  type SchedulerConfig,
  type StepInput,
  type StepResult,
  samplerNames,
  triangleGuidance,
} from "@vd/sampling";
export { runInSlices } from "@vd/tensor";
export * from "./checkpoint/index";
export { type ClipPixelOptions, clipPixelValues, clipPixelValuesPausable } from "./conditioning/clip-pixel-values";
export { vaeInput, vaeInputFromTensor, vaeInputPausable } from "./conditioning/vae-input";
export type { Denoiser, DenoiserCall, DenoiserFactory, DenoiserFallback, DenoiserRequest } from "./denoiser";
export { denoiserNames, registerDenoiser } from "./denoiser-registry";
export type { ModelComponents } from "./model/components";
export { openModelFolder } from "./model/folder";
export { type Models, makeModels } from "./model/models";
export { openSingleFile } from "./model/single-file";
export * from "./models/index";
export { StableVideoDiffusionPipeline } from "./pipeline";
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
