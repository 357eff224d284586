import { type NamePair, unetLayoutOfDiffusers, unetLayoutOfOriginal } from "@vd/hub";
import { vaeLayoutOfDiffusers, vaeNamePairs, vaePairsOfOriginal } from "@vd/vae-opt";
import { clipLayersOfDiffusers, clipLayersOfOriginal, clipNamePairs } from "./clip-names";
import type { ComponentName } from "./component-names";
import { videoUnetNamePairs } from "./video-unet-names";

/** How a network is named on both sides; names are relative to the network. */
export interface ComponentNames {
  pairsOfOriginal(names: ReadonlySet<string>): NamePair[];
  pairsOfDiffusers(names: ReadonlySet<string>): NamePair[];
  /** What stands before a relative original name in a file that this package writes. */
  originalPrefix(name: string): string;
}

/** Where the published checkpoints keep the encoder of the condition, which is the one that has a `quant_conv`. */
const ENCODER_PREFIX = "conditioner.embedders.3.encoder.";

/** All networks of SVD. */
export const COMPONENT_NAMING: Readonly<Record<ComponentName, ComponentNames>> = {
  unet: {
    pairsOfOriginal: (names) => videoUnetNamePairs(unetLayoutOfOriginal(names)),
    pairsOfDiffusers: (names) => videoUnetNamePairs(unetLayoutOfDiffusers(names)),
    originalPrefix: () => "model.diffusion_model.",
  },
  vae: {
    pairsOfOriginal: vaePairsOfOriginal,
    pairsOfDiffusers: (names) => vaeNamePairs(vaeLayoutOfDiffusers(names)),
    originalPrefix: (name) => (name.startsWith("decoder.") ? "first_stage_model." : ENCODER_PREFIX),
  },
  image_encoder: {
    pairsOfOriginal: (names) => clipNamePairs(clipLayersOfOriginal(names)),
    pairsOfDiffusers: (names) => clipNamePairs(clipLayersOfDiffusers(names)),
    originalPrefix: () => "conditioner.embedders.0.open_clip.model.visual.",
  },
};
