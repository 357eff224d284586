import { type CheckpointParts, locateEntries, type RelativeEntries, type TensorEntry } from "@vd/hub";
import { chooseVaeEncoder, currentVaeName, VAE_PREFIXES, VAE_UNUSED } from "@vd/vae-opt";
import type { ComponentName } from "./component-names";

/** The tensors of a single-file checkpoint, sorted by network. */
export interface LocatedNetworks {
  components: Readonly<Record<ComponentName, RelativeEntries>>;
  /** Names that belong to no part of SVD. */
  unknown: string[];
}

const SVD_PARTS: CheckpointParts<"unet" | "image_encoder" | "encoder" | "stage"> = {
  prefixes: [
    [/^model\.diffusion_model\./, "unet"],
    [/^conditioner\.embedders\.\d+\.open_clip\.model\.visual\./, "image_encoder"],
    ...VAE_PREFIXES,
  ],
  // CLIP's text tower, unused decoders, training state.
  unused: [
    /^conditioner\.embedders\.\d+\.open_clip\.model\.(?!visual\.)/,
    ...VAE_UNUSED,
    /^(?:model_ema|denoiser|loss_fn)\./,
  ],
  currentName: currentVaeName,
};

/**
 * Sorts the tensors of a single-file checkpoint by network.
 * Source: Stability-AI/generative-models scripts/sampling/configs/svd_xt.yaml.
 */
export function locateNetworks(entries: Iterable<TensorEntry>): LocatedNetworks {
  const { parts, unknown } = locateEntries(entries, SVD_PARTS);
  const vae = chooseVaeEncoder(parts.get("encoder")!, parts.get("stage")!);
  return { components: { unet: parts.get("unet")!, image_encoder: parts.get("image_encoder")!, vae }, unknown };
}
