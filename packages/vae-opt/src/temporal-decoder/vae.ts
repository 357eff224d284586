import { type Pausable, type PausableModule, pausable, requireLayer, type Weights } from "@vd/tensor";
import { VAE_CONFIG } from "../wanted";
import type { VaeConfig } from "./config";
import { type Decoder, decoder } from "./decoder";
import { encoder } from "./encoder";

/** Stable Video Diffusion's autoencoder as forward functions. */
export interface TemporalVae extends Decoder {
  config: VaeConfig;
  /** x: [N,1,H,W,3] in [-1,1] → moments [N,1,H/f,W/f,2·latentChannels]: means, then log-variances. */
  encode: PausableModule;
}

/**
 * Makes the autoencoder from its weights. Pauses between its parts.
 *
 * @throws VdError `weights` naming the first key that does not fit, `attr` for what are no weights or no configuration
 * @example
 * ```ts
 * import { readFileSync } from "node:fs";
 * import { openDevice } from "@vd/kernels-native";
 * import { compile, Weights } from "@vd/tensor";
 * import { parseVaeConfig, temporalVae } from "@vd/vae-opt";
 *
 * const folder = "models/tiny-svd/vae";
 * const config = parseVaeConfig(JSON.parse(readFileSync(`${folder}/config.json`, "utf8")));
 * const vae = temporalVae(Weights.open(folder), config);
 * const plan = await compile(openDevice("cpu"), (g) => {
 *   const z = g.input("latents", [1, 4, 16, 16, config.latentChannels]);
 *   g.output("frames", vae.decode(g, z, { chunkFrames: 2 })); // [1,4,128,128,3]
 * });
 * console.log(plan.memory.peakBytes);
 * ```
 */
export const temporalVae = pausable(function* (w: Weights, config: VaeConfig): Pausable<TemporalVae> {
  requireLayer("temporalVae", w, config, VAE_CONFIG);
  const encode = encoder(w, config);
  yield;
  const decoding = decoder(w, config);
  yield;
  return { config, encode, ...decoding };
});
