export {
  type CausalVaeConfig,
  frameFactor,
  parseCausalVaeConfig,
  pictureFactor,
  SEEDVR2_VAE_CONFIG,
} from "./config";
export type { FrameMemory, Piece } from "./frame-memory";
export { type CausalCall, type CausalVideoVae, causalVideoVae } from "./model";
