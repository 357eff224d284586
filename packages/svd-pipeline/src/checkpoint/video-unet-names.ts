import {
  layerPairs,
  type NamePair,
  RES_BLOCK_LAYERS,
  sameLayers,
  transformerBlockPairs,
  type UnetLayout,
  unetNamePairs,
} from "@vd/hub";

/** Every tensor of Stable Video Diffusion's UNet with these blocks, in both ways of naming. */
export function videoUnetNamePairs(layout: UnetLayout): NamePair[] {
  const added = layerPairs("", "", [
    ["label_emb.0.0", "add_embedding.linear_1"],
    ["label_emb.0.2", "add_embedding.linear_2"],
  ]);
  return [...unetNamePairs(layout, { resBlock: videoResBlock, transformer: videoTransformer }), ...added];
}

function videoResBlock(original: string, diffusers: string): NamePair[] {
  return [
    ...layerPairs(original, `${diffusers}.spatial_res_block`, RES_BLOCK_LAYERS),
    ...layerPairs(original, `${diffusers}.spatial_res_block`, [["skip_connection", "conv_shortcut"]], {
      optional: true,
    }),
    ...layerPairs(`${original}.time_stack`, `${diffusers}.temporal_res_block`, RES_BLOCK_LAYERS),
    mixFactor(original, diffusers),
  ];
}

function videoTransformer(original: string, diffusers: string, depth: number): NamePair[] {
  const pairs = [
    ...layerPairs(original, diffusers, [["norm", "norm"]]),
    // Linear in SVD; other models of the family have 1×1 convolutions in these places.
    ...layerPairs(
      original,
      diffusers,
      [
        ["proj_in", "proj_in"],
        ["proj_out", "proj_out"],
      ],
      { convolution: "perhaps" },
    ),
    ...layerPairs(`${original}.time_pos_embed`, `${diffusers}.time_pos_embed`, [
      ["0", "linear_1"],
      ["2", "linear_2"],
    ]),
    mixFactor(original, diffusers),
  ];
  for (let i = 0; i < depth; i++) {
    pairs.push(...transformerBlockPairs(`${original}.transformer_blocks.${i}`, `${diffusers}.transformer_blocks.${i}`));
    const temporal = [`${original}.time_stack.${i}`, `${diffusers}.temporal_transformer_blocks.${i}`] as const;
    pairs.push(...transformerBlockPairs(...temporal));
    pairs.push(...layerPairs(...temporal, sameLayers("norm_in", "ff_in.net.0.proj", "ff_in.net.2")));
  }
  return pairs;
}

function mixFactor(original: string, diffusers: string): NamePair {
  return { original: `${original}.time_mixer.mix_factor`, diffusers: `${diffusers}.time_mixer.mix_factor` };
}
