import { VdError } from "@vd/kernels-native";
import type { DiffusionModel } from "./types";

/** The parts must fit each other: what one gives, the other takes. */
export function checkFit({ unet, codec, text }: Pick<DiffusionModel, "unet" | "codec" | "text">, where: string): void {
  const fail = (expected: string, got: number): never => {
    throw new VdError({ code: "weights", where, expected, got: String(got) });
  };
  const { latentChannels } = codec;
  const { inChannels, outChannels, levels } = unet.config;
  if (inChannels !== latentChannels || outChannels !== latentChannels)
    fail(`a network of the ${latentChannels} channels of the autoencoder's latents`, inChannels);
  const odd = levels.find(({ crossAttentionDim }) => crossAttentionDim !== text.config.hiddenSize);
  if (odd) fail(`cross_attention_dim of the text encoder's ${text.config.hiddenSize}`, odd.crossAttentionDim);
}
