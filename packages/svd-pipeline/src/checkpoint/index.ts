export {
  COMPONENT_NAMES,
  type ComponentName,
  type ExportSource,
  exportBytes,
  type MadeSource,
  type StoredSource,
  sourceBytes,
  sourceRange,
  type TensorEntry,
  type TensorSource,
} from "@vd/hub";
export { type ComponentSources, diffusersToOriginal, originalToDiffusers } from "./convert";
export { type ConfigJson, type InferenceOptions, type InferredConfigs, inferConfigs } from "./infer-configs";
