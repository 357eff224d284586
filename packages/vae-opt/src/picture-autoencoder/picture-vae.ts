import { FLAG } from "@vd/kernels-native";
import { type Pausable, type PausableModule, pausable, requireLayer, type Weights } from "@vd/tensor";
import { encoder } from "../temporal-decoder/encoder";
import { VAE_CONFIG } from "../wanted";
import type { PictureVaeConfig } from "./config";
import { pictureDecoder } from "./decoder";

/** AutoencoderKL, the autoencoder of Stable Diffusion, as forward functions. */
export interface PictureVae {
  readonly config: PictureVaeConfig;
  /** x: [N,F,H,W,3] in [-1, 1] → moments [N,F,H/f,W/f,2·latentChannels]: means, then log-variances. */
  readonly encode: PausableModule;
  /** z: [N,F,h,w,latentChannels], not scaled → [N,F,H,W,3] in about [-1, 1]. */
  readonly decode: PausableModule;
}

const CONFIG = { ...VAE_CONFIG, quantConv: FLAG, postQuantConv: FLAG };

/**
 * Makes the autoencoder from its weights. Pauses between its halves.
 *
 * @throws VdError `weights` naming the first key that does not fit, `attr` for what are no weights or no configuration
 */
export const pictureVae = pausable(function* (w: Weights, config: PictureVaeConfig): Pausable<PictureVae> {
  requireLayer("pictureVae", w, config, CONFIG);
  const encode = encoder(w, config, { quantConv: config.quantConv });
  yield;
  return { config, encode, decode: pictureDecoder(w, config) };
});
