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
export {
  type FileFormat,
  type FloatImage,
  framesToUint8,
  framesToUnit,
  loadImage,
  type PictureFit,
  type PictureSource,
  type RgbImage,
  type WrittenVideo,
} from "@vd/media";
export {
  createSampler,
  findSampler,
  type GuidanceShape,
  guidanceScales,
  guidanceShapes,
  type LatentDtype,
  linearGuidance,
  type Sampler,
  type SamplerName,
  type SamplerOptions,
  type SamplerState,
  type SchedulerClassName,
  type SchedulerConfig,
  type StepInput,
  type StepResult,
  samplerNames,
  startStep,
  triangleGuidance,
} from "@vd/sampling";
export { runInSlices } from "@vd/tensor";
export * from "./checkpoint/index";
export { type ClipPixelOptions, clipPixelValues } from "./conditioning/clip-pixel-values";
export { type VaeInputOptions, vaeInput, vaeInputFromTensor } from "./conditioning/vae-input";
export type { Denoiser, DenoiserCall, DenoiserFactory, DenoiserFallback, DenoiserRequest } from "./denoising/denoiser";
export { denoiserNames, registerDenoiser } from "./denoising/denoiser-registry";
export { EndlessVideo } from "./generation/endless/endless-video";
export type { ClipChanges, EndlessClip, EndlessOptions, EndlessState, Scene } from "./generation/endless/types";
export { BESIDE_BYTES } from "./generation/memory-phases";
export { type ResumeState, resumeState } from "./generation/resume/generation-state";
export { removeState } from "./generation/resume/state-folder";
export { type Continuity, measureContinuity, type SeamMeasure } from "./generation/steering/continuity";
export { joinClip } from "./generation/steering/join-clip";
export type { VideoEncodeOptions, VideoSaveOptions } from "./generation/video-files";
export type { LoraChoice } from "./lora/merge-loras";
export * from "./models/index";
export type { ModelComponents } from "./opening/components";
export { openModelFolder } from "./opening/folder";
export { type Models, makeModels } from "./opening/models";
export { openSingleFile, type SingleFileOptions } from "./opening/single-file";
export type { WarningListener } from "./opening/warnings";
export { StableVideoDiffusionPipeline } from "./pipeline";
export type { CalibrateOptions, Calibration } from "./precision/calibration/calibrate";
export type { ChosenScales } from "./precision/calibration/choose-smoothing";
export {
  CALIBRATION_NAME,
  type CalibrationTable,
  calibrationBeside,
  type KnownLora,
  readCalibration,
  saveCalibration,
} from "./precision/calibration/table";
export {
  type ConvolutionMethod,
  normsAreFused,
  settleConvolutions,
  type UnetRecording,
  unetRewritings,
} from "./precision/convolutions";
export { type EightBits, type EightBitsRequest, openEightBits } from "./precision/eight-bits";
export {
  type EightBitPrecision,
  type LayerKind,
  type LayerType,
  PRECISION_PLANS,
  type PrecisionPlan,
} from "./precision/layer-kinds";
export type { LayerScales, ScaleTable } from "./precision/layer-scales";
export { modelsWithLayers } from "./precision/models-with-layers";
export { type ChoosePiecesOptions, choosePieces } from "./stages/choose-pieces";
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
