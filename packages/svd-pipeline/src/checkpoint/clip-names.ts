import { countBelow, layerPairs, type NamePair, openClipLayerPairs } from "@vd/hub";

/** Number of transformer layers, read off the original names. */
export function clipLayersOfOriginal(names: ReadonlySet<string>): number {
  return countBelow(names, "transformer.resblocks.");
}

/** Number of transformer layers, read off the names of the folder layout. */
export function clipLayersOfDiffusers(names: ReadonlySet<string>): number {
  return countBelow(names, "vision_model.encoder.layers.");
}

/**
 * Every tensor of a CLIP vision encoder, in both ways of naming. The original keeps query, key and value in one matrix
 * and the projection transposed.
 * Source: mlfoundations/open_clip src/open_clip/transformer.py `VisionTransformer`;
 * huggingface/diffusers@58eb52c src/diffusers/loaders/single_file_utils.py `convert_open_clip_checkpoint`.
 */
export function clipNamePairs(numLayers: number): NamePair[] {
  const embeddings = "vision_model.embeddings";
  const pairs: NamePair[] = [
    { original: "class_embedding", diffusers: `${embeddings}.class_embedding` },
    { original: "positional_embedding", diffusers: `${embeddings}.position_embedding.weight` },
    { original: "conv1.weight", diffusers: `${embeddings}.patch_embedding.weight` },
    { original: "proj", diffusers: "visual_projection.weight", transpose: true },
    ...layerPairs("", "vision_model", [
      // The reference's own spelling.
      ["ln_pre", "pre_layrnorm"],
      ["ln_post", "post_layernorm"],
    ]),
  ];
  for (let i = 0; i < numLayers; i++) {
    const [original, diffusers] = [`transformer.resblocks.${i}`, `vision_model.encoder.layers.${i}`];
    pairs.push(...openClipLayerPairs(original, diffusers));
  }
  return pairs;
}
