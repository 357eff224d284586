export type { VideoFrames, VideoLatents } from "./autoencoder/checks";
export type { VaeSourceOptions } from "./autoencoder/open";
export type { DecodePlanRequest, PlannedDecode } from "./autoencoder/plan";
export { type ReconstructionOptions, reconstructionSnr } from "./autoencoder/reconstruction";
export {
  type DecodeClipOptions,
  type EncodeClipOptions,
  type OpenVaeOptions,
  SvdAutoencoder,
  type VaeCallOptions,
} from "./autoencoder/svd-autoencoder";
export * from "./causal-video/index";
export { inferVaeConfig, type VaeInference } from "./checkpoint/infer-vae";
export {
  pictureVaeNamePairs,
  type VaeLayout,
  vaeLayoutOfDiffusers,
  vaeLayoutOfOriginal,
  vaeNamePairs,
} from "./checkpoint/vae-names";
export {
  addFoldedVaeLayer,
  chooseVaeEncoder,
  currentVaeName,
  VAE_PREFIXES,
  VAE_UNUSED,
  vaePairsOfOriginal,
} from "./checkpoint/vae-parts";
export { type ChosenPieces, chooseDecodePieces, type PieceBudget } from "./decoding/choose-pieces";
export { frameBytes, type MapMemory } from "./decoding/clip-map";
export {
  decodeInTiles,
  type FramesOutput,
  joinedFrames,
  type KeptMaps,
  type MapBehind,
  type TiledDecode,
  type TileStage,
  tileStages,
} from "./decoding/decode-tiles";
export type { HostMap, MapSize } from "./decoding/host-map";
export {
  type BlockMaps,
  type BlockTiles,
  blockMaps,
  canReplace,
  type DecodePieces,
  describePieces,
  hostBytes,
  type TileChoice,
} from "./decoding/pieces";
export { type FailedDecode, smallerPieces } from "./decoding/smaller-pieces";
export { type DecodeShape, decodeStage, type StageRunner, spatialBytesOf, type VaeStage } from "./decoding/stages";
export { availableBytes, freeHostBytes, type MemoryUse, mostBytes, usableBytes } from "./decoding/usable-memory";
export {
  decodeOnTeam,
  type LoadedPart,
  partArenaBytes,
  type TeamDecode,
  type TeamFrames,
} from "./devices/decode-on-team";
export { type DecodePart, decodePart, type Exchange, type PartStep, receivedBytes } from "./devices/decode-part";
export { type FrameRun, frameRuns } from "./devices/frame-runs";
export {
  collectFrames,
  createFrameLoader,
  FrameLoader,
  type FrameLoaderOptions,
  type LoadedFrame,
} from "./frames/frame-loader";
export type { FrameSource } from "./frames/sources";
export { optimalNumWorkers } from "./frames/workers";
export { touchedBytes } from "./host-memory";
export { type Availability, isFp8Available } from "./optimization/fp8";
export { isHopper, type KnownDevices } from "./optimization/hopper";
export {
  type Optimizable,
  OptimizableModel,
  type OptimizationChange,
  type OptimizationOptions,
  type OptimizationReport,
} from "./optimization/optimizable-model";
export { type AutocastOptions, configureAutocast, optimizeForWindowsBlackwell } from "./optimization/optimize";
export { rewriteOf } from "./optimization/rewrite";
export type { OptimizationSwitches, VaePrecision } from "./optimization/switches";
export type { TuningCacheOptions } from "./optimization/tuning-cache";
export * from "./picture-autoencoder/index";
export { type Posterior, posterior, posteriorMode } from "./posterior";
export { NORM_GROUPS, parseVaeConfig, spatialFactor, type VaeConfig } from "./temporal-decoder/config";
export type { DecodeHeadOptions, DecodeOptions, Decoder, DecoderBlock, DecoderEnd } from "./temporal-decoder/decoder";
export { type TemporalVae, temporalVae } from "./temporal-decoder/vae";
export type { TinyLayer } from "./tiny/layers";
export { tinyDecoder, tinyEncoder } from "./tiny/model";
export { openTiny, type TinyComponents, type TinyHalf } from "./tiny/open";
export {
  type OpenTinyOptions,
  TinyAutoencoder,
  type TinyCallOptions,
  type TinyStream,
} from "./tiny/tiny-autoencoder";
