export { type ComponentSources, diffusersToOriginal, originalToDiffusers } from "./convert";
export { type ConfigJson, type InferenceOptions, type InferredConfigs, inferConfigs } from "./infer-configs";
export { exportBytes, sourceBytes, sourceRange } from "@vd/hub";
export {
  COMPONENT_NAMES,
  type ComponentName,
  type ExportSource,
  type MadeSource,
  type StoredSource,
  type TensorEntry,
  type TensorSource,
} from "@vd/hub";
