import type { UnetConfig } from "@vd/svd-pipeline";
import { GAIN, type SyntheticTensor, spatioTemporalResTensors, TensorList } from "./tensors";

/** Value and gate of a GEGLU, and by how much it widens. */
const GEGLU = 2;
const WIDENING = 4;

function feedForward(list: TensorList, name: string, width: number): void {
  list.linear(`${name}.net.0.proj`, width, GEGLU * WIDENING * width);
  list.linear(`${name}.net.2`, WIDENING * width, width, { gain: GAIN.branch });
}

function attention(list: TensorList, name: string, width: number, context: number): void {
  list.linear(`${name}.to_q`, width, width, { bias: false, gain: GAIN.score });
  list.linear(`${name}.to_k`, context, width, { bias: false, gain: GAIN.score });
  list.linear(`${name}.to_v`, context, width, { bias: false });
  list.linear(`${name}.to_out.0`, width, width, { gain: GAIN.branch });
}

/** BasicTransformerBlock, or TemporalBasicTransformerBlock, which has a feed-forward in front. */
function block(list: TensorList, name: string, width: number, context: number, isTemporal: boolean): void {
  if (isTemporal) {
    list.norm(`${name}.norm_in`, width);
    feedForward(list, `${name}.ff_in`, width);
  }
  list.norm(`${name}.norm1`, width);
  attention(list, `${name}.attn1`, width, width);
  list.norm(`${name}.norm2`, width);
  attention(list, `${name}.attn2`, width, context);
  list.norm(`${name}.norm3`, width);
  feedForward(list, `${name}.ff`, width);
}

function transformer(list: TensorList, name: string, width: number, config: UnetConfig, level: number): void {
  const context = config.crossAttentionDim[level]!;
  list.norm(`${name}.norm`, width);
  list.linear(`${name}.proj_in`, width, width);
  for (let i = 0; i < config.transformerLayers[level]!; i++) {
    block(list, `${name}.transformer_blocks.${i}`, width, context, false);
    block(list, `${name}.temporal_transformer_blocks.${i}`, width, context, true);
  }
  list.linear(`${name}.time_pos_embed.linear_1`, width, WIDENING * width);
  list.linear(`${name}.time_pos_embed.linear_2`, WIDENING * width, width);
  list.mixFactor(`${name}.time_mixer`);
  list.linear(`${name}.proj_out`, width, width, { gain: GAIN.branch });
}

/** The way down; returns the channels of all skip connections in the order they are made. */
function downTensors(list: TensorList, config: UnetConfig, embedding: number): number[] {
  const channels = config.blockOutChannels;
  const skips = [channels[0]!];
  channels.forEach((cout, level) => {
    for (let i = 0; i < config.layersPerBlock[level]!; i++) {
      spatioTemporalResTensors(list, `down_blocks.${level}.resnets.${i}`, { cin: skips.at(-1)!, cout, embedding });
      if (config.downAttention[level]) transformer(list, `down_blocks.${level}.attentions.${i}`, cout, config, level);
      skips.push(cout);
    }
    if (level === channels.length - 1) return;
    list.conv(`down_blocks.${level}.downsamplers.0.conv`, cout, cout, [3, 3]);
    skips.push(cout);
  });
  return skips;
}

function upTensors(list: TensorList, config: UnetConfig, embedding: number, skips: number[]): void {
  const channels = config.blockOutChannels;
  let width = channels.at(-1)!;
  channels.forEach((_, position) => {
    const level = channels.length - 1 - position;
    const cout = channels[level]!;
    for (let i = 0; i <= config.layersPerBlock[level]!; i++) {
      const cin = width + skips.pop()!;
      spatioTemporalResTensors(list, `up_blocks.${position}.resnets.${i}`, { cin, cout, embedding });
      if (config.upAttention[position]) transformer(list, `up_blocks.${position}.attentions.${i}`, cout, config, level);
      width = cout;
    }
    if (level > 0) list.conv(`up_blocks.${position}.upsamplers.0.conv`, cout, cout, [3, 3]);
  });
}

/** Every weight of a UNetSpatioTemporalConditionModel.
 *  Source: huggingface/diffusers@58eb52c unets/unet_spatio_temporal_condition.py and unets/unet_3d_blocks.py. */
export function unetTensors(config: UnetConfig): SyntheticTensor[] {
  const list = new TensorList();
  const [first, last] = [config.blockOutChannels[0]!, config.blockOutChannels.at(-1)!];
  const embedding = WIDENING * first;
  list.conv("conv_in", config.inChannels, first, [3, 3]);
  list.linear("time_embedding.linear_1", first, embedding);
  list.linear("time_embedding.linear_2", embedding, embedding);
  list.linear("add_embedding.linear_1", config.additionEmbedInput, embedding);
  list.linear("add_embedding.linear_2", embedding, embedding);
  const skips = downTensors(list, config, embedding);
  for (const i of [0, 1])
    spatioTemporalResTensors(list, `mid_block.resnets.${i}`, { cin: last, cout: last, embedding });
  transformer(list, "mid_block.attentions.0", last, config, config.blockOutChannels.length - 1);
  upTensors(list, config, embedding, skips);
  list.norm("conv_norm_out", first);
  list.conv("conv_out", first, config.outChannels, [3, 3]);
  return list.tensors;
}
