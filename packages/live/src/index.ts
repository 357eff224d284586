/** Video that is made while it is watched: sessions of steerable diffusion models, and what becomes of them over long games. */

export { CHAIN_SIDE, recordRandomChain } from "./chain/random-chain";
export { isClipModel } from "./clips/clip-model";
export {
  type FrameInputs,
  type FramePart,
  type FramePartStats,
  FramePipeline,
  type FrameVariants,
} from "./devices/frame-pipeline";
export { createLiveSessions, type LiveSessionsOptions, type SharedSessionOptions } from "./devices/sessions";
export { DiffusionBatches, type DiffusionBatchesOptions } from "./diffusion/diffusion-batches";
export type { FrameBatch, FrameBatches } from "./diffusion/frame-batch";
export { type DiffusionSources, openDiffusionModel } from "./diffusion/open-model";
export { openTokenizer } from "./diffusion/open-tokenizer";
export { PictureEngine, type PictureEngineOptions } from "./diffusion/picture-engine";
export {
  RANDOM_LAYOUTS,
  RANDOM_MODELS,
  type RandomLayout,
  type RandomModel,
  randomDiffusionModel,
  recordRandomNetwork,
} from "./diffusion/random-models";
export {
  type DiffusionModel,
  GUIDANCE_KINDS,
  type GuidanceKind,
  type PictureCodec,
  type StreamConditions,
} from "./diffusion/types";
export { drift, hasCollapsed } from "./drift/drift";
export { collapseScore, type DriftAnchor } from "./drift/measure";
export { randomPlay } from "./drift/play";
export type { DriftMeasure, DriftOptions, DriftReport, DriftSummary } from "./drift/types";
export { actionForKeys } from "./model/actions";
export {
  allocateFrameMemory,
  type FrameMemory,
  type FrameSize,
  type PlacedTensor,
  readContext,
  writeContext,
} from "./model/frame-memory";
export { eulerStep, type Preconditioning, preconditioning } from "./model/levels";
export { type LiveModel, openLiveModel, startContext } from "./model/live-model";
export { type FrameGuard, type FrameProgram, recordFrame } from "./model/record-frame";
export { LIVE_KINDS, type LiveModelInfo, type LiveStart } from "./model/types";
export {
  type ClipText,
  type ClipTextConfig,
  type ClipTokenizer,
  type ClipTokenizerFiles,
  clipText,
  clipTokenizer,
  parseClipTextConfig,
} from "./models/clip-text/index";
export {
  type Conditions,
  type DeepFeatures,
  parseUnet2dConfig,
  type Unet2d,
  type Unet2dCall,
  type Unet2dConfig,
  unet2d,
} from "./models/unet-2d/index";
export {
  type ConditionLevel,
  parseUnet2dConditionConfig,
  type TimeConditions,
  type Unet2dCondition,
  type Unet2dConditionCall,
  type Unet2dConditionConfig,
  unet2dCondition,
} from "./models/unet-2d-condition/index";
export * from "./models/unet-chain/index";
export { createLiveSession } from "./session/create";
export type {
  ClipsState,
  EngineState,
  FrameMaker,
  FrameRequest,
  GuardAmounts,
  MadeFrame,
  ProgramRequest,
} from "./session/frame-maker";
export { DEFAULT_GUARD } from "./session/guard";
export type { LiveLook } from "./session/look";
export {
  type AdaptiveOptions,
  type ClipOptions,
  DEADLINE_POLICIES,
  type DeadlinePolicy,
  type DriftGuardOptions,
  type FeatureCacheOptions,
  LIVE_PRECISIONS,
  type LiveFrame,
  type LivePace,
  type LiveParameters,
  type LivePicture,
  type LivePrecision,
  type LiveSession,
  type LiveSessionOptions,
  type LiveSnapshot,
  type LiveStats,
  type LiveTimes,
  SESSION_PRECISIONS,
  type SessionPrecision,
  type SimilarityOptions,
  type TemporalBlendOptions,
} from "./session/types";
