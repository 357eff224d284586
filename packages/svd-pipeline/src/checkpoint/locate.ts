import { type CheckpointParts, locateEntries, type RelativeEntries, type TensorEntry } from "@vd/hub";
import type { ComponentName } from "./component-names";

/** The tensors of a single-file checkpoint, sorted by network. */
export interface LocatedNetworks {
  components: Readonly<Record<ComponentName, RelativeEntries>>;
  /** Names that belong to no part of SVD. */
  unknown: string[];
}

/** `encoder`: the condition's own autoencoder; `stage`: the one that decodes. */
const SVD_PARTS: CheckpointParts<"unet" | "image_encoder" | "encoder" | "stage"> = {
  prefixes: [
    [/^model\.diffusion_model\./, "unet"],
    [/^conditioner\.embedders\.\d+\.open_clip\.model\.visual\./, "image_encoder"],
    // The decoder of the condition's own autoencoder is not used.
    [/^conditioner\.embedders\.\d+\.encoder\.(?=encoder\.|quant_conv\.)/, "encoder"],
    [/^first_stage_model\.(?=encoder\.|decoder\.|quant_conv\.)/, "stage"],
  ],
  // CLIP's text tower, unused decoders, training state.
  unused: [
    /^conditioner\.embedders\.\d+\.open_clip\.model\.(?!visual\.)/,
    /^conditioner\.embedders\.\d+\.encoder\.(?:decoder|post_quant_conv|loss|model_ema)\./,
    /^first_stage_model\.(?:loss|model_ema)\./,
    /^(?:model_ema|denoiser|loss_fn)\./,
  ],
  // Earlier files, and the reference's conversion script, have the decoder's last layer under another name.
  currentName: (name) => name.replace(/^decoder\.time_mix_conv\./, "decoder.conv_out.time_mix_conv."),
};

/**
 * Sorts the tensors of a single-file checkpoint by network. The published files hold two encoders: that of the
 * condition (`conditioner.embedders.3.encoder`) is the one that makes the latents of the input picture, so it is taken
 * where there is one; `first_stage_model.encoder` otherwise.
 * Source: Stability-AI/generative-models scripts/sampling/configs/svd_xt.yaml.
 */
export function locateNetworks(entries: Iterable<TensorEntry>): LocatedNetworks {
  const { parts, unknown } = locateEntries(entries, SVD_PARTS);
  const vae = chooseEncoder(parts.get("encoder")!, parts.get("stage")!);
  return { components: { unet: parts.get("unet")!, image_encoder: parts.get("image_encoder")!, vae }, unknown };
}

function chooseEncoder(encoder: RelativeEntries, stage: RelativeEntries): RelativeEntries {
  const decoderOnly = [...stage].filter(([name]) => name.startsWith("decoder."));
  if (encoder.has("encoder.conv_in.weight")) return new Map([...decoderOnly, ...encoder]);
  return new Map([...encoder, ...stage]);
}
