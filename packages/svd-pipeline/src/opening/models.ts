import { VdError } from "@vd/kernels-native";
import { type Pausable, type PausableModule, pausable, type Tensor } from "@vd/tensor";
import { type TemporalVae, temporalVae } from "@vd/vae-opt";
import { type ClipVisionOutputs, clipVision, type Unet, unet } from "../models/index";
import type { ModelComponents } from "./components";

/** The forward functions of all parts. */
export interface Models {
  unet: Unet;
  vae: TemporalVae;
  imageEncoder: PausableModule<[x: Tensor], ClipVisionOutputs>;
}

/** Frame rate, motion bucket and noise augmentation. */
const NUM_MICRO_CONDITIONS = 3;

/** Buffers of older checkpoints that hold no weights. */
const isIndexBuffer = (name: string) => name.endsWith("position_ids");

/**
 * Makes all models and checks every weight against its configuration. Pauses between the models' blocks.
 *
 * @throws VdError `weights` naming the first key that is missing, misshapen or not asked for
 */
export const makeModels = pausable(function* (components: ModelComponents): Pausable<Models> {
  const { unet: denoiser, vae, imageEncoder } = components;
  const models: Models = {
    unet: yield* unet.inPieces(denoiser.weights, denoiser.config),
    vae: yield* temporalVae.inPieces(vae.weights, vae.config),
    imageEncoder: clipVision(imageEncoder.weights, imageEncoder.config),
  };
  yield;
  for (const part of [denoiser, vae, imageEncoder]) part.weights.expectAllUsed(isIndexBuffer);
  checkFit(components);
  return models;
});

/** The parts belong together: embeddings, latents and pictures have the sizes that the next part takes. */
function checkFit({ source, unet: denoiser, vae, imageEncoder }: ModelComponents): void {
  const fits = (where: string, expected: string, want: number, got: number) => {
    if (want === got) return;
    throw new VdError({
      code: "weights",
      where: `${source}] [${where}`,
      expected: `${want} (${expected})`,
      got: String(got),
      hint: "The parts of the folder come from different models.",
    });
  };
  const { config } = denoiser;
  config.crossAttentionDim.forEach((width) => {
    fits("unet cross_attention_dim", "the image encoder's projection_dim", imageEncoder.config.projectionDim, width);
  });
  fits("unet in_channels", "twice the autoencoder's latent_channels", 2 * vae.config.latentChannels, config.inChannels);
  fits("unet out_channels", "the autoencoder's latent_channels", vae.config.latentChannels, config.outChannels);
  const embeddingWidth = NUM_MICRO_CONDITIONS * config.additionTimeEmbedDim;
  const embeddingRule = `${NUM_MICRO_CONDITIONS} times addition_time_embed_dim`;
  fits("unet projection_class_embeddings_input_dim", embeddingRule, embeddingWidth, config.additionEmbedInput);
  fits("vae in_channels", "red, green and blue", 3, vae.config.inChannels);
  fits("vae out_channels", "red, green and blue", 3, vae.config.outChannels);
}
