export {
  type CausalVaeOptions,
  CausalVideoAutoencoder,
  type DecodeStreamOptions,
  type EncodedClip,
  type EncodeStreamOptions,
} from "./autoencoder";
export type { Clip } from "./clip";
export {
  type CausalVaeConfig,
  frameFactor,
  parseCausalVaeConfig,
  pictureFactor,
  SEEDVR2_VAE_CONFIG,
} from "./config";
export type { FrameMemory, Piece } from "./frame-memory";
export { type CausalCall, type CausalVideoVae, causalVideoVae } from "./model";
export type { CausalVaePlan, PlanRequest, StreamPlan } from "./planning";
export { randomCausalVaeWeights } from "./random-weights";
export type { ClipSource } from "./stream";
export { type CheckpointTensor, causalVaeTensors } from "./tensors";
