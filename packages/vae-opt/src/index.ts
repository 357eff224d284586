export * from "./causal-video/index";
export { type Posterior, posterior, posteriorMode } from "./posterior";
export { NORM_GROUPS, parseVaeConfig, spatialFactor, type VaeConfig } from "./temporal-decoder/config";
export type { DecodeOptions } from "./temporal-decoder/decoder";
export { type TemporalVae, temporalVae } from "./temporal-decoder/vae";
