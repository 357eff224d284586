import {
  type CheckpointParts,
  countBelow,
  layerPairs,
  type NamePair,
  openClipLayerPairs,
  RES_BLOCK_LAYERS,
  type RelativeEntries,
  transformerBlockPairs,
  unetLayoutOfOriginal,
  unetNamePairs,
} from "@vd/hub";
import { pictureVaeNamePairs, vaeLayoutOfOriginal } from "@vd/vae-opt";

/** Where a checkpoint in one file holds the networks: version 1 has CLIP's text encoder in the names of transformers, version 2 OpenCLIP's. */
export const ORIGINAL_PARTS: CheckpointParts<"unet" | "vae" | "clip" | "open_clip"> = {
  prefixes: [
    [/^model\.diffusion_model\./, "unet"],
    [/^first_stage_model\.(?=encoder\.|decoder\.|quant_conv\.|post_quant_conv\.)/, "vae"],
    [/^cond_stage_model\.transformer\.(?!text_model\.embeddings\.position_ids)/, "clip"],
    [/^cond_stage_model\.model\.(?!text_projection$|logit_scale$|attn_mask$)/, "open_clip"],
  ],
  // The rest of CLIP, tables of the noise, training state.
  unused: [
    /^cond_stage_model\./,
    /^(?:first_stage_model\.)?(?:model_ema|loss)\b/,
    /^(?:alphas|betas|sqrt_|log_|posterior_|logvar|lvlb_weights|scale_factor|global_step|state_dict)/,
    /^(?:model_ema|embedding_manager|control_model)\./,
  ],
};

/** A residual block of a UNet of pictures. */
const resBlock = (original: string, diffusers: string): NamePair[] => [
  ...layerPairs(original, diffusers, RES_BLOCK_LAYERS),
  ...layerPairs(original, diffusers, [["skip_connection", "conv_shortcut"]], { optional: true }),
];

function transformer(original: string, diffusers: string, depth: number): NamePair[] {
  const ends = ["norm", "proj_in", "proj_out"].map((name) => [name, name] as const);
  const blocks = Array.from({ length: depth }, (_, i) =>
    transformerBlockPairs(`${original}.transformer_blocks.${i}`, `${diffusers}.transformer_blocks.${i}`),
  );
  return [...layerPairs(original, diffusers, ends), ...blocks.flat()];
}

/** The pairs of a UNet with these original names. */
export const unetPairs = (names: ReadonlySet<string>): NamePair[] =>
  unetNamePairs(unetLayoutOfOriginal(names), { resBlock, transformer });

/** The pairs of an autoencoder with these original names. */
export const vaePairs = (names: ReadonlySet<string>): NamePair[] => pictureVaeNamePairs(vaeLayoutOfOriginal(names));

/** CLIP's text encoder has the names of transformers in the original too. */
export const clipPairs = (names: ReadonlySet<string>): NamePair[] =>
  [...names].map((name) => ({ original: name, diffusers: name }));

const LAYERS = "transformer.resblocks.";

/** OpenCLIP's text encoder without its last layer, which Stable Diffusion 2 does not use: it was trained on what comes before. */
export function withoutLastLayer(open: RelativeEntries): RelativeEntries {
  const last = `${LAYERS}${countBelow(new Set(open.keys()), LAYERS) - 1}.`;
  return new Map([...open].filter(([name]) => !name.startsWith(last)));
}

/** The pairs of OpenCLIP's text encoder. Source: huggingface/diffusers@58eb52c loaders/single_file_utils.py `convert_open_clip_checkpoint`. */
export function openClipPairs(names: ReadonlySet<string>): NamePair[] {
  const embeddings = "text_model.embeddings";
  const layers = Array.from({ length: countBelow(names, LAYERS) }, (_, i) =>
    openClipLayerPairs(`${LAYERS}${i}`, `text_model.encoder.layers.${i}`),
  );
  return [
    { original: "token_embedding.weight", diffusers: `${embeddings}.token_embedding.weight` },
    { original: "positional_embedding", diffusers: `${embeddings}.position_embedding.weight` },
    ...layers.flat(),
    ...layerPairs("", "text_model", [["ln_final", "final_layer_norm"]]),
  ];
}
