/** Samplers (schedulers), guidance and preconditioning, with torch's arithmetic. */
export type { DataBounds } from "./arithmetic/limiter";
export {
  denoise,
  edmPreconditioning,
  type Preconditioning,
  type Prediction,
  preconditioning,
  type Scale,
} from "./arithmetic/preconditioning";
export { add, cast, div, type LatentDtype, mul, roundNumber, sub, type Values } from "./arithmetic/values";
export type { SchedulerConfig } from "./config";
export { type ConsistencyOptions, type ConsistencyStep, consistencySteps } from "./consistency-steps";
export { createSampler, findSampler, samplerDefinitions, samplerNames } from "./create-sampler";
export type { SamplerDefinition } from "./definition";
export { type GuidanceShape, guidanceScales, guidanceShapes, linearGuidance, triangleGuidance } from "./guidance";
export { type LinearSteps, linearSteps, stepsFromDenoised, withDataColumn } from "./linear-steps";
export { MAX_STEPS, type SamplerOptions } from "./options";
export { type Sampler, type SamplerState, type StepInput, type StepResult, startStep } from "./sampler";
export type { SamplerName, SchedulerClassName } from "./samplers.generated";
export { dynamicFlowShift, type FlowShiftKind, flowShift, stretchToTerminal } from "./schedule/flow-shift";
export type { SigmaModel, SigmaTable } from "./schedule/sigma-model";
export {
  betaSigmas,
  exponentialSigmas,
  karrasSigmas,
  linearSigmas,
  polyexponentialSigmas,
  type SigmaRange,
  sgmUniformSigmas,
  trainedSigmas,
  type VpOptions,
  vpSigmas,
} from "./schedule/sigmas";
