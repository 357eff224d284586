import { oneOrList, type Shapes, sizeOf, type UnetLevel, unetLayoutOfDiffusers } from "@vd/hub";
import { VdError } from "@vd/kernels-native";
import type { ConfigJson, InferenceOptions } from "./infer-configs";

/** Frames per second, motion bucket and noise level. */
const NUM_MICRO_CONDITIONS = 3;
/** Latent size of the published models' training pictures, 768. */
const SAMPLE_SIZE = 96;

/**
 * `unet/config.json` from shapes. Heads cannot be read off weights: 64 channels each, as in all published models.
 *
 * @throws VdError `weights` where blocks of one level differ or channels do not divide into heads
 */
export function inferUnetConfig(shapes: Shapes, { headChannels = 64, numFrames = 25 }: InferenceOptions): ConfigJson {
  const { down, middleDepth, up } = unetLayoutOfDiffusers(new Set(shapes.keys()));
  const upFromTop = [...up].reverse();
  const channels = down.map((_, i) => sizeOf(shapes, `down_blocks.${i}.resnets.0.spatial_res_block.conv1.weight`, 0));
  const additionInput = sizeOf(shapes, "add_embedding.linear_1.weight", 1);
  const depths = down.map((level, i) => {
    const below = upFromTop[i] === undefined ? 0 : uniformDepth(upFromTop[i], `up_blocks.${up.length - 1 - i}`);
    return uniformDepth(level, `down_blocks.${i}`) || below || (i === down.length - 1 ? middleDepth : 0);
  });
  // A level without attention has no depth of its own; what is written for it is not read.
  const commonDepth = depths.find((depth) => depth > 0) ?? 1;
  return {
    _class_name: "UNetSpatioTemporalConditionModel",
    addition_time_embed_dim: additionInput / NUM_MICRO_CONDITIONS,
    block_out_channels: channels,
    cross_attention_dim: oneOrList(contextSizes(shapes, down, up)),
    down_block_types: down.map((level) => `${attentive(level)}DownBlockSpatioTemporal`),
    in_channels: sizeOf(shapes, "conv_in.weight", 1),
    layers_per_block: oneOrList(down.map((level) => level.depths.length)),
    num_attention_heads: channels.map((size, i) => numHeads(size, headChannels, (depths[i] ?? 0) > 0)),
    num_frames: numFrames,
    out_channels: sizeOf(shapes, "conv_out.weight", 0),
    projection_class_embeddings_input_dim: additionInput,
    sample_size: SAMPLE_SIZE,
    transformer_layers_per_block: oneOrList(depths.map((depth) => depth || commonDepth)),
    up_block_types: up.map((level) => `${attentive(level)}UpBlockSpatioTemporal`),
  };
}

function attentive(level: UnetLevel): "CrossAttn" | "" {
  return level.depths.some((depth) => depth > 0) ? "CrossAttn" : "";
}

function uniformDepth({ depths }: UnetLevel, where: string): number {
  const [first = 0] = depths;
  if (depths.every((depth) => depth === first)) return first;
  throw new VdError({
    code: "weights",
    where,
    expected: "the same number of transformer blocks after each residual block of a level",
    got: depths.join(", "),
    hint: "The checkpoint is damaged, or of another kind of model.",
  });
}

/** Width of the context per level: of the attention on the way down, else on the way up, else in the middle. */
function contextSizes(shapes: Shapes, down: readonly UnetLevel[], up: readonly UnetLevel[]): number[] {
  const at = (block: string) => shapes.get(`${block}.attentions.0.transformer_blocks.0.attn2.to_k.weight`)?.shape[1];
  const middle = sizeOf(shapes, "mid_block.attentions.0.transformer_blocks.0.attn2.to_k.weight", 1);
  return down.map((_, i) => at(`down_blocks.${i}`) ?? at(`up_blocks.${up.length - 1 - i}`) ?? middle);
}

function numHeads(channels: number, headChannels: number, hasAttention: boolean): number {
  if (channels % headChannels === 0) return channels / headChannels;
  // One head is the only choice for fewer channels than one head has; without attention the number is not read.
  if (channels < headChannels || !hasAttention) return 1;
  throw new VdError({
    code: "weights",
    where: "num_attention_heads",
    expected: `channels that divide into heads of ${headChannels}`,
    got: String(channels),
    hint: "Give the number of channels per head: weights do not tell it.",
  });
}
