/** Models from the Hugging Face Hub and from folders: download and cache, weight files, names of their tensors. */
export {
  exportsOfPairs,
  firstOf,
  type NameFaults,
  requireAllNames,
  sourcesOfPairs,
} from "./checkpoint/convert-names";
export {
  type CheckpointParts,
  type LocatedEntries,
  locateEntries,
  type RelativeEntries,
} from "./checkpoint/locate-entries";
export { countBelow, type LayerPair, layerPairs, type NamePair } from "./checkpoint/name-pair";
export { openClipLayerPairs } from "./checkpoint/open-clip-names";
export { exportBytes, sourceBytes, sourceRange } from "./checkpoint/tensor-bytes";
export { oneOrList, type Shapes, sizeOf } from "./checkpoint/tensor-shapes";
export type {
  ExportSource,
  MadeSource,
  StoredSource,
  TensorEntry,
  TensorSource,
} from "./checkpoint/tensor-source";
export {
  RES_BLOCK_LAYERS,
  sameLayers,
  transformerBlockPairs,
  type UnetLayout,
  type UnetLevel,
  type UnetNaming,
  unetLayoutOfDiffusers,
  unetLayoutOfOriginal,
  unetNamePairs,
} from "./checkpoint/unet-names";
export { weightsOfSources } from "./checkpoint/weights-of-sources";
export {
  type CachedModel,
  type CacheOptions,
  findCachedModel,
  listCachedModels,
  removeCachedModel,
} from "./client/cached-models";
export type { ModelLicence } from "./client/client";
export { HUB_ENVIRONMENT_VARIABLES } from "./client/environment";
export { type HeldLock, type LockHolder, type LockOptions, tryLock } from "./client/file-lock";
export { selectModelFiles, selectWeightFiles } from "./client/file-selection";
export { type HubModelName, parseHubModelName } from "./client/names";
export type { DownloadProgress, ProgressListener } from "./client/progress";
export { type ResolvedModel, resolveModel } from "./client/resolve-model";
export type { HubOptions, HubTuning, PlannedDownload, WeightFormat } from "./client/settings";
export { type ComponentWeights, openComponentWeights } from "./files/component-files";
export { checkUnchanged, type OpenFile, recordFiles } from "./files/open-files";
export { readJson } from "./files/read-json";
export { type LoraFile, type LoraMatrix, type LoraModule, readLoraFile } from "./lora/lora-file";
