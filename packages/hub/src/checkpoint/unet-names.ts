import {
  FUNCTION,
  having,
  listOf,
  requireArgument,
  requireFields,
  TEXT,
  type WantedFields,
  wholeFrom,
} from "@vd/kernels-native";
import { countBelow, type LayerPair, layerPairs, NAMES, type NamePair, requirePrefixes } from "./name-pair";

/** The blocks of a UNet, as far as names depend on them. */
export interface UnetLayout {
  down: readonly UnetLevel[];
  /** Transformer blocks in the middle. */
  middleDepth: number;
  /** From the smallest level up, in the order in which they run. */
  up: readonly UnetLevel[];
}

/** One level of a UNet, on the way down or up. */
export interface UnetLevel {
  /** For each residual block the number of transformer blocks after it; 0 without attention. */
  depths: readonly number[];
  /** True if a down- or upsampling layer ends the level. */
  resamples: boolean;
}

const LEVELS = listOf(having("a level { depths, resamples }", ["depths", "resamples"]));
const LAYOUT: WantedFields = { down: LEVELS, middleDepth: wholeFrom(0), up: LEVELS };
const LAYERS = listOf(TEXT);
const NAMING: WantedFields = { resBlock: FUNCTION, transformer: FUNCTION };

/** Layers of a residual block with a time embedding. */
export const RES_BLOCK_LAYERS: readonly LayerPair[] = [
  ["in_layers.0", "norm1"],
  ["in_layers.2", "conv1"],
  ["emb_layers.1", "time_emb_proj"],
  ["out_layers.0", "norm2"],
  ["out_layers.3", "conv2"],
];

/**
 * Reads the blocks off the original names: `input_blocks` and `output_blocks` are numbered through all levels.
 * Source: Stability-AI/generative-models sgm/modules/diffusionmodules/video_model.py `VideoUNet`.
 *
 * @throws VdError `attr` for what is no set of names
 */
export function unetLayoutOfOriginal(names: ReadonlySet<string>): UnetLayout {
  requireArgument("unetLayoutOfOriginal", names, NAMES);
  const hasLayer = (name: string) => names.has(`${name}.weight`);
  const depth = (name: string) => countBelow(names, `${name}.transformer_blocks.`);
  const down: { depths: number[]; resamples: boolean }[] = [{ depths: [], resamples: false }];
  for (let i = 1; i < countBelow(names, "input_blocks."); i++) {
    if (hasLayer(`input_blocks.${i}.0.op`)) {
      down.at(-1)!.resamples = true;
      down.push({ depths: [], resamples: false });
    } else down.at(-1)!.depths.push(depth(`input_blocks.${i}.1`));
  }
  const up: { depths: number[]; resamples: boolean }[] = [];
  for (let i = 0; i < countBelow(names, "output_blocks."); i++) {
    if (up.length === 0 || up.at(-1)!.resamples) up.push({ depths: [], resamples: false });
    up.at(-1)!.depths.push(depth(`output_blocks.${i}.1`));
    up.at(-1)!.resamples = hasLayer(`output_blocks.${i}.1.conv`) || hasLayer(`output_blocks.${i}.2.conv`);
  }
  return { down, middleDepth: depth("middle_block.1"), up };
}

/** Reads the blocks off the names of the folder layout. @throws VdError `attr` for what is no set of names */
export function unetLayoutOfDiffusers(names: ReadonlySet<string>): UnetLayout {
  requireArgument("unetLayoutOfDiffusers", names, NAMES);
  const level = (block: string, resampler: string): UnetLevel => ({
    depths: Array.from({ length: countBelow(names, `${block}.resnets.`) }, (_, layer) =>
      countBelow(names, `${block}.attentions.${layer}.transformer_blocks.`),
    ),
    resamples: names.has(`${block}.${resampler}.0.conv.weight`),
  });
  const levels = (side: string, resampler: string) =>
    Array.from({ length: countBelow(names, `${side}.`) }, (_, i) => level(`${side}.${i}`, resampler));
  return {
    down: levels("down_blocks", "downsamplers"),
    middleDepth: countBelow(names, "mid_block.attentions.0.transformer_blocks."),
    up: levels("up_blocks", "upsamplers"),
  };
}

/** How a kind of UNet names its blocks; depth: transformer blocks. */
export interface UnetNaming {
  resBlock(original: string, diffusers: string): NamePair[];
  transformer(original: string, diffusers: string, depth: number): NamePair[];
}

/**
 * Every tensor of a UNet with these blocks, in both ways of naming.
 * Source: huggingface/diffusers@58eb52c scripts/convert_svd_to_diffusers.py `convert_ldm_unet_checkpoint`.
 *
 * @throws VdError `attr` for what is no layout and no naming
 */
export function unetNamePairs(layout: UnetLayout, naming: UnetNaming): NamePair[] {
  requireFields("unetNamePairs layout", layout, LAYOUT);
  requireFields("unetNamePairs naming", naming, NAMING);
  const { resBlock, transformer } = naming;
  const pairs = layerPairs("", "", [
    ["time_embed.0", "time_embedding.linear_1"],
    ["time_embed.2", "time_embedding.linear_2"],
    ["input_blocks.0.0", "conv_in"],
    ["out.0", "conv_norm_out"],
    ["out.2", "conv_out"],
  ]);
  const layerNames = (original: string, block: string, layer: number, depth: number) => [
    ...resBlock(`${original}.0`, `${block}.resnets.${layer}`),
    ...(depth === 0 ? [] : transformer(`${original}.1`, `${block}.attentions.${layer}`, depth)),
  ];
  let input = 1;
  layout.down.forEach((level, i) => {
    level.depths.forEach((depth, layer) => {
      pairs.push(...layerNames(`input_blocks.${input++}`, `down_blocks.${i}`, layer, depth));
    });
    const sampler: LayerPair = [`input_blocks.${input}.0.op`, `down_blocks.${i}.downsamplers.0.conv`];
    if (level.resamples) pairs.push(...layerPairs("", "", [sampler]));
    if (level.resamples) input++;
  });
  pairs.push(...resBlock("middle_block.0", "mid_block.resnets.0"));
  pairs.push(...transformer("middle_block.1", "mid_block.attentions.0", layout.middleDepth));
  pairs.push(...resBlock("middle_block.2", "mid_block.resnets.1"));
  let output = 0;
  layout.up.forEach((level, i) => {
    level.depths.forEach((depth, layer) => {
      pairs.push(...layerNames(`output_blocks.${output++}`, `up_blocks.${i}`, layer, depth));
    });
    const after = (level.depths.at(-1) ?? 0) > 0 ? 2 : 1;
    const sampler: LayerPair = [`output_blocks.${output - 1}.${after}.conv`, `up_blocks.${i}.upsamplers.0.conv`];
    if (level.resamples) pairs.push(...layerPairs("", "", [sampler]));
  });
  return pairs;
}

/** A transformer block, inside of which both sides use the same names. @throws VdError `attr` for what are no prefixes */
export function transformerBlockPairs(original: string, diffusers: string): NamePair[] {
  requirePrefixes("transformerBlockPairs", original, diffusers);
  const layers = sameLayers("norm1", "norm2", "norm3", "attn1.to_out.0", "attn2.to_out.0", "ff.net.0.proj", "ff.net.2");
  const projections = ["attn1", "attn2"].flatMap((attention) =>
    ["to_q", "to_k", "to_v"].map((projection) => `${attention}.${projection}.weight`),
  );
  return [
    ...layerPairs(original, diffusers, layers),
    ...projections.map((name) => ({ original: `${original}.${name}`, diffusers: `${diffusers}.${name}` })),
  ];
}

/** Layers that both sides call the same. @throws VdError `attr` for what are no names */
export function sameLayers(...names: string[]): LayerPair[] {
  requireArgument("sameLayers", names, LAYERS);
  return names.map((name) => [name, name]);
}
