/** Samplers (schedulers), guidance and preconditioning in one import. */

export type { LatentDtype } from "./arithmetic/values";
export type { SchedulerConfig } from "./config";
export { createSampler, findSampler, samplerNames } from "./create-sampler";
export { type GuidanceShape, guidanceScales, guidanceShapes, linearGuidance, triangleGuidance } from "./guidance";
export type { SamplerOptions } from "./options";
export type { Sampler, SamplerState, StepInput, StepResult } from "./sampler";
