export { HUB_ENVIRONMENT_VARIABLES } from "./environment";
export { selectModelFiles, selectWeightFiles } from "./file-selection";
export type { DownloadProgress, ProgressListener } from "./progress";
export { type ResolvedModel, resolveModel } from "./resolve-model";
export type { HubOptions, HubTuning, WeightFormat } from "./settings";
