import { countBelow, type LayerPair, layerPairs, type NamePair } from "@vd/hub";
import { listOf, requireArgument, requireFields, wholeFrom } from "@vd/kernels-native";
import { NAMES } from "../wanted";

/** The blocks of the autoencoder, as far as names depend on them. */
export interface VaeLayout {
  /** Residual blocks per level, from the picture inwards. */
  encoderLayers: readonly number[];
  /** Residual blocks in the middle of the decoder. */
  decoderMiddleLayers: number;
  /** Residual blocks per level, from the latents outwards. */
  decoderLayers: readonly number[];
}

const LAYERS = listOf(wholeFrom(0));
const LAYOUT = { encoderLayers: LAYERS, decoderMiddleLayers: wholeFrom(0), decoderLayers: LAYERS };

const RES_LAYERS: readonly LayerPair[] = ["norm1", "conv1", "norm2", "conv2"].map((name) => [name, name]);
const TIME_LAYERS: readonly LayerPair[] = [
  ["in_layers.0", "norm1"],
  ["in_layers.2", "conv1"],
  ["out_layers.0", "norm2"],
  ["out_layers.3", "conv2"],
];
const ATTENTION_LAYERS: readonly LayerPair[] = [
  ["q", "to_q"],
  ["k", "to_k"],
  ["v", "to_v"],
  ["proj_out", "to_out.0"],
];

/**
 * Reads the blocks off the original names, in which the decoder's levels are numbered from the picture inwards too.
 * Source: Stability-AI/generative-models sgm/modules/diffusionmodules/model.py, sgm/modules/autoencoding/temporal_ae.py.
 *
 * @throws VdError `attr` for what are no names
 */
export function vaeLayoutOfOriginal(names: ReadonlySet<string>): VaeLayout {
  requireArgument("vaeLayoutOfOriginal names", names, NAMES);
  const layers = (side: string) =>
    Array.from({ length: countBelow(names, `${side}.`) }, (_, i) => countBelow(names, `${side}.${i}.block.`));
  let decoderMiddleLayers = 0;
  while (names.has(`decoder.mid.block_${decoderMiddleLayers + 1}.conv1.weight`)) decoderMiddleLayers++;
  return {
    encoderLayers: layers("encoder.down"),
    decoderMiddleLayers,
    decoderLayers: layers("decoder.up").reverse(),
  };
}

/** Reads the blocks off the names of the folder layout. @throws VdError `attr` for what are no names */
export function vaeLayoutOfDiffusers(names: ReadonlySet<string>): VaeLayout {
  requireArgument("vaeLayoutOfDiffusers names", names, NAMES);
  const layers = (side: string) =>
    Array.from({ length: countBelow(names, `${side}.`) }, (_, i) => countBelow(names, `${side}.${i}.resnets.`));
  return {
    encoderLayers: layers("encoder.down_blocks"),
    decoderMiddleLayers: countBelow(names, "decoder.mid_block.resnets."),
    decoderLayers: layers("decoder.up_blocks"),
  };
}

/**
 * Every tensor of an autoencoder with these blocks, in both ways of naming.
 * Source: huggingface/diffusers@58eb52c scripts/convert_svd_to_diffusers.py `convert_ldm_vae_checkpoint`.
 *
 * @throws VdError `attr` for what is no layout
 */
export function vaeNamePairs(layout: VaeLayout): NamePair[] {
  requireFields("vaeNamePairs layout", layout, LAYOUT);
  const end: LayerPair = ["conv_out.time_mix_conv", "time_conv_out"];
  return [
    ...layerPairs("", "", [["quant_conv", "quant_conv"]]),
    ...encoderPairs(layout),
    ...decoderPairs(layout, videoResBlock),
    ...layerPairs("decoder", "decoder", [end]),
  ];
}

/**
 * Every tensor of an autoencoder of pictures with these blocks, in both ways of naming.
 * Source: huggingface/diffusers@58eb52c src/diffusers/loaders/single_file_utils.py `convert_ldm_vae_checkpoint`.
 *
 * @throws VdError `attr` for what is no layout
 */
export function pictureVaeNamePairs(layout: VaeLayout): NamePair[] {
  requireFields("pictureVaeNamePairs layout", layout, LAYOUT);
  const ends: LayerPair[] = [
    ["quant_conv", "quant_conv"],
    ["post_quant_conv", "post_quant_conv"],
  ];
  return [...layerPairs("", "", ends), ...encoderPairs(layout), ...decoderPairs(layout, resBlock)];
}

function encoderPairs({ encoderLayers }: VaeLayout): NamePair[] {
  const pairs = layerPairs("encoder", "encoder", [
    ["conv_in", "conv_in"],
    ["norm_out", "conv_norm_out"],
    ["conv_out", "conv_out"],
  ]);
  encoderLayers.forEach((count, level) => {
    const block = `encoder.down_blocks.${level}`;
    for (let i = 0; i < count; i++)
      pairs.push(...resBlock(`encoder.down.${level}.block.${i}`, `${block}.resnets.${i}`));
    const sampler: LayerPair = [`encoder.down.${level}.downsample.conv`, `${block}.downsamplers.0.conv`];
    if (level < encoderLayers.length - 1) pairs.push(...layerPairs("", "", [sampler]));
  });
  return [
    ...pairs,
    ...resBlock("encoder.mid.block_1", "encoder.mid_block.resnets.0"),
    ...attention("encoder.mid.attn_1", "encoder.mid_block.attentions.0"),
    ...resBlock("encoder.mid.block_2", "encoder.mid_block.resnets.1"),
  ];
}

function decoderPairs({ decoderLayers, decoderMiddleLayers }: VaeLayout, block: typeof resBlock): NamePair[] {
  const pairs = layerPairs("decoder", "decoder", [
    ["conv_in", "conv_in"],
    ["norm_out", "conv_norm_out"],
    ["conv_out", "conv_out"],
  ]);
  pairs.push(...attention("decoder.mid.attn_1", "decoder.mid_block.attentions.0"));
  for (let i = 0; i < decoderMiddleLayers; i++) {
    pairs.push(...block(`decoder.mid.block_${i + 1}`, `decoder.mid_block.resnets.${i}`));
  }
  decoderLayers.forEach((count, level) => {
    const [original, diffusers] = [`decoder.up.${decoderLayers.length - 1 - level}`, `decoder.up_blocks.${level}`];
    for (let i = 0; i < count; i++) pairs.push(...block(`${original}.block.${i}`, `${diffusers}.resnets.${i}`));
    const sampler: LayerPair = [`${original}.upsample.conv`, `${diffusers}.upsamplers.0.conv`];
    if (level < decoderLayers.length - 1) pairs.push(...layerPairs("", "", [sampler]));
  });
  return pairs;
}

function resBlock(original: string, diffusers: string): NamePair[] {
  return [
    ...layerPairs(original, diffusers, RES_LAYERS),
    ...layerPairs(original, diffusers, [["nin_shortcut", "conv_shortcut"]], { optional: true }),
  ];
}

function videoResBlock(original: string, diffusers: string): NamePair[] {
  return [
    ...resBlock(original, `${diffusers}.spatial_res_block`),
    ...layerPairs(`${original}.time_stack`, `${diffusers}.temporal_res_block`, TIME_LAYERS),
    { original: `${original}.mix_factor`, diffusers: `${diffusers}.time_mixer.mix_factor` },
  ];
}

function attention(original: string, diffusers: string): NamePair[] {
  return [
    ...layerPairs(original, diffusers, [["norm", "group_norm"]]),
    ...layerPairs(original, diffusers, ATTENTION_LAYERS, { convolution: "always" }),
  ];
}
