import type { PausableModule, Tensor, Weights } from "@vd/tensor";
import type { VaeConfig } from "./config";
import { type DecodeOptions, decoder } from "./decoder";
import { encoder } from "./encoder";

/** Stable Video Diffusion's autoencoder as forward functions. */
export interface TemporalVae {
  config: VaeConfig;
  /** x: [N,1,H,W,3] in [-1,1] → moments [N,1,H/f,W/f,2·latentChannels]: means, then log-variances. */
  encode: PausableModule;
  /** z: [B,F,h,w,latentChannels], divided by the scaling factor → frames [B,F,H,W,3]. */
  decode: PausableModule<[z: Tensor, options?: DecodeOptions]>;
}

/** Makes the autoencoder from its weights. Throws VdError `weights` naming the first key that does not fit. */
export function temporalVae(w: Weights, config: VaeConfig): TemporalVae {
  return { config, encode: encoder(w, config), decode: decoder(w, config) };
}
