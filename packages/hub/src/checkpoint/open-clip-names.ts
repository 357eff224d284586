import { type LayerPair, layerPairs, type NamePair, requirePrefixes } from "./name-pair";

const LAYERS: readonly LayerPair[] = [
  ["ln_1", "layer_norm1"],
  ["ln_2", "layer_norm2"],
  ["attn.out_proj", "self_attn.out_proj"],
  ["mlp.c_fc", "mlp.fc1"],
  ["mlp.c_proj", "mlp.fc2"],
];

/**
 * One layer of OpenCLIP's encoders, which keeps query, key and value in one matrix, in both ways of naming.
 * Source: mlfoundations/open_clip src/open_clip/transformer.py `ResidualAttentionBlock`.
 *
 * @throws VdError `attr` for what are no prefixes
 */
export function openClipLayerPairs(original: string, diffusers: string): NamePair[] {
  requirePrefixes("openClipLayerPairs", original, diffusers);
  const projections = ["q_proj", "k_proj", "v_proj"].flatMap((projection, index) =>
    ["weight", "bias"].map(
      (parameter): NamePair => ({
        original: `${original}.attn.in_proj_${parameter}`,
        diffusers: `${diffusers}.self_attn.${projection}.${parameter}`,
        part: { index, count: 3 },
      }),
    ),
  );
  return [...layerPairs(original, diffusers, LAYERS), ...projections];
}
