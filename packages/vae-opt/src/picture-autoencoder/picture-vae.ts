import { type Pausable, type PausableModule, pausable, type Weights } from "@vd/tensor";
import { encoder } from "../temporal-decoder/encoder";
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

/**
 * Makes the autoencoder from its weights. Pauses between its halves.
 *
 * @throws VdError `weights` naming the first key that does not fit
 */
export const pictureVae = pausable(function* (w: Weights, config: PictureVaeConfig): Pausable<PictureVae> {
  const encode = encoder(w, config, { quantConv: config.quantConv });
  yield;
  return { config, encode, decode: pictureDecoder(w, config) };
});
