export { HUB_ENVIRONMENT_VARIABLES } from "./client/environment";
export { selectModelFiles, selectWeightFiles } from "./client/file-selection";
export type { DownloadProgress, ProgressListener } from "./client/progress";
export { type ResolvedModel, resolveModel } from "./client/resolve-model";
export type { HubOptions, HubTuning, WeightFormat } from "./client/settings";
