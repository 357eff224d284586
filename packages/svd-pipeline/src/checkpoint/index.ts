export { COMPONENT_NAMES, type ComponentName } from "./component-names";
export { type ComponentSources, diffusersToOriginal, originalToDiffusers } from "./convert";
export { type ConfigJson, type InferenceOptions, type InferredConfigs, inferConfigs } from "./infer-configs";
