export type { DeepFeatures } from "./blocks";
export type { Cross } from "./conditioning";
export { parseUnetConfig, type UnetConfig } from "./config";
export type { Conditioning } from "./transformer";
export { foldedCross, tokenCross, type Unet, type UnetInputs, unet } from "./unet";
