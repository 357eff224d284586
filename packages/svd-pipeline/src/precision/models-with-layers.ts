import type { Models } from "../opening/models";
import type { CheckedLoad } from "../options/check-load";
import type { EightBits } from "./eight-bits";
import { unetInEightBits } from "./in-eight-bits";
import { unetWithWinograd } from "./unet-with-winograd";

/** Returns the models with a UNet whose layers are computed as the options want: in 8 bits, and with Winograd's transforms what is not. */
export function modelsWithLayers(
  models: Models,
  eightBits: EightBits | undefined,
  { convolutions }: Pick<CheckedLoad["layers"], "convolutions">,
): Models {
  const unet = eightBits ? unetInEightBits(models.unet, eightBits.model) : models.unet;
  return { ...models, unet: convolutions === "winograd" ? unetWithWinograd(unet) : unet };
}
