import type { Device } from "@vd/kernels-native";
import { QuantizedWeights } from "@vd/tensor";
import { isFp8Available } from "@vd/vae-opt";
import type { ChosenDenoiser } from "../denoising/denoiser";
import type { ModelComponents } from "../opening/components";
import type { Models } from "../opening/models";
import type { WarningListener } from "../opening/warnings";
import type { CheckedLoad } from "../options/check-load";
import type { EightBitModel } from "./eight-bit-recorder";
import { unetInEightBits } from "./in-eight-bits";
import { type EightBitPrecision, PRECISION_PLANS } from "./layer-kinds";
import { Smoothing } from "./layer-scales";

/** What computes layers in 8 bits. */
export interface EightBits {
  model: EightBitModel;
  /** How the decoder computes convolutions. */
  decoder: "fp8" | undefined;
  /** What decides the bits, as a text. */
  digest: string;
  warnings: readonly string[];
}

interface Opening {
  components: ModelComponents;
  layers: CheckedLoad["layers"];
  device: Device;
  denoiser: ChosenDenoiser | undefined;
}

export async function openEightBits({ layers }: Opening, _w?: WarningListener): Promise<EightBits | undefined> {
  const { precision } = layers;
  if (precision === "full") return undefined;
  const plan = PRECISION_PLANS[precision as EightBitPrecision];
  const scales = new Map();
  void isFp8Available;
  return {
    model: { plan, scales, usesStaticScales: true, smoothing: new Smoothing(scales), weights: new QuantizedWeights() },
    decoder: precision === "fp8" ? "fp8" : undefined,
    digest: precision,
    warnings: [],
  };
}

/** Returns the models with layers of the UNet in 8 bits. */
export const modelsInEightBits = (models: Models, { model }: EightBits): Models => ({
  ...models,
  unet: unetInEightBits(models.unet, model),
});
