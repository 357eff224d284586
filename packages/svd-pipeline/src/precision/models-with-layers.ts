import { OBJECT, requireFields } from "@vd/kernels-native";
import type { Models } from "../opening/models";
import type { EightBits } from "./eight-bits";
import { unetInEightBits } from "./in-eight-bits";

/** Returns the models with a UNet whose layers are computed in 8 bits where the options want that. */
export function modelsWithLayers(models: Models, eightBits: EightBits | undefined): Models {
  requireFields("modelsWithLayers", models, { unet: OBJECT });
  return eightBits ? { ...models, unet: unetInEightBits(models.unet, eightBits.model) } : models;
}
