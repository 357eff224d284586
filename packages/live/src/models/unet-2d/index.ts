export { parseUnet2dConfig, type Unet2dConfig } from "./config";
export type { Conditions } from "./embeddings";
export { type DeepFeatures, type Unet2d, type Unet2dCall, unet2d } from "./unet";
