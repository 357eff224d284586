import { OBJECT, requireFields, VdError } from "@vd/kernels-native";
import { type Pausable, type PausableModule, pausable, type Tensor, type Weights } from "@vd/tensor";
import { type TemporalVae, temporalVae } from "@vd/vae-opt";
import { type ClipVisionOutputs, clipVision, type Unet, unet } from "../models/index";
import type { ModelComponents } from "./components";
import { type WarningListener, warnProcess } from "./warnings";

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

/** Warns of weights that no part of a model takes, as the reference does, and of weights in another type. */
function warnOfWeights(weights: Weights, source: string, onWarning: WarningListener): void {
  const unused = weights.unused(isIndexBuffer);
  if (unused.length > 0) {
    const some = `${unused.slice(0, 3).join(", ")}${unused.length > 3 ? ", …" : ""}`;
    onWarning(
      `${source}: ${unused.length} weights are not used: ${some}. If the configuration and the weights come from ` +
        "different models, or the model has parts that this package does not know, its videos will be wrong.",
    );
  }
  for (const notice of weights.notices) onWarning(notice);
}

/**
 * Makes all models and checks every weight against its configuration. Pauses between the models' blocks.
 *
 * @param onWarning hears of weights that are not asked for, and of those that are used in another type than they are
 *   stored in. Default: a warning of the process
 * @throws VdError `weights` naming the first key that is missing or misshapen
 */
export const makeModels = pausable(function* (
  components: ModelComponents,
  onWarning: WarningListener = warnProcess,
): Pausable<Models> {
  requireFields("makeModels", components, { unet: OBJECT, vae: OBJECT, imageEncoder: OBJECT });
  const { unet: denoiser, vae, imageEncoder } = components;
  const models: Models = {
    unet: yield* unet.inPieces(denoiser.weights, denoiser.config),
    vae: yield* temporalVae.inPieces(vae.weights, vae.config),
    imageEncoder: clipVision(imageEncoder.weights, imageEncoder.config),
  };
  yield;
  for (const [name, part] of Object.entries({ unet: denoiser, vae, image_encoder: imageEncoder }))
    warnOfWeights(part.weights, `${components.source} (${name})`, onWarning);
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
