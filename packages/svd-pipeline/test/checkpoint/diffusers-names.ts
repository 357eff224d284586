import type { TensorEntry } from "@vd/hub";
import type { ComponentName } from "../../src/checkpoint/index";

/** Names and shapes as the classes of diffusers and transformers make them; written from their constructors. */
export interface UnetShape {
  inChannels: number;
  outChannels: number;
  blockOutChannels: number[];
  layersPerBlock: number[];
  /** Transformer blocks per level; 0 for a plain block. */
  downDepths: number[];
  /** From the smallest level up. */
  upDepths: number[];
  middleDepth: number;
  crossAttentionDim: number;
  additionInput: number;
}

export interface VaeShape {
  inChannels: number;
  outChannels: number;
  latentChannels: number;
  blockOutChannels: number[];
  layersPerBlock: number;
}

export interface ClipShape {
  hidden: number;
  intermediate: number;
  layers: number;
  patch: number;
  image: number;
  projection: number;
}

/** Collects tensors below a prefix. */
export class Names {
  readonly entries: TensorEntry[] = [];
  constructor(readonly dtype = "F16") {}

  add(name: string, ...shape: number[]): void {
    this.entries.push({ name, dtype: this.dtype, shape });
  }
  norm(name: string, channels: number): void {
    this.add(`${name}.weight`, channels);
    this.add(`${name}.bias`, channels);
  }
  linear(name: string, from: number, to: number, bias = true): void {
    this.add(`${name}.weight`, to, from);
    if (bias) this.add(`${name}.bias`, to);
  }
  conv(name: string, from: number, to: number, ...kernel: number[]): void {
    this.add(`${name}.weight`, to, from, ...kernel);
    this.add(`${name}.bias`, to);
  }
}

export function transformerBlock(names: Names, name: string, width: number, context: number, temporal: boolean): void {
  const feedForward = (part: string) => {
    names.linear(`${part}.net.0.proj`, width, width * 8);
    names.linear(`${part}.net.2`, width * 4, width);
  };
  if (temporal) {
    names.norm(`${name}.norm_in`, width);
    feedForward(`${name}.ff_in`);
  }
  for (const norm of ["norm1", "norm2", "norm3"]) names.norm(`${name}.${norm}`, width);
  for (const [attention, from] of [
    ["attn1", width],
    ["attn2", context],
  ] as const) {
    names.linear(`${name}.${attention}.to_q`, width, width, false);
    names.linear(`${name}.${attention}.to_k`, from, width, false);
    names.linear(`${name}.${attention}.to_v`, from, width, false);
    names.linear(`${name}.${attention}.to_out.0`, width, width);
  }
  feedForward(`${name}.ff`);
}

function spatioTemporalRes(names: Names, name: string, from: number, to: number, embedding: number | undefined): void {
  const [spatial, temporal] = [`${name}.spatial_res_block`, `${name}.temporal_res_block`];
  names.norm(`${spatial}.norm1`, from);
  names.conv(`${spatial}.conv1`, from, to, 3, 3);
  names.norm(`${spatial}.norm2`, to);
  names.conv(`${spatial}.conv2`, to, to, 3, 3);
  if (from !== to) names.conv(`${spatial}.conv_shortcut`, from, to, 1, 1);
  for (const i of [1, 2]) {
    names.norm(`${temporal}.norm${i}`, to);
    names.conv(`${temporal}.conv${i}`, to, to, 3, 1, 1);
  }
  if (embedding !== undefined) {
    for (const part of [spatial, temporal]) names.linear(`${part}.time_emb_proj`, embedding, to);
  }
  names.add(`${name}.time_mixer.mix_factor`, 1);
}

function transformer(names: Names, name: string, width: number, context: number, depth: number): void {
  names.norm(`${name}.norm`, width);
  names.linear(`${name}.proj_in`, width, width);
  for (let i = 0; i < depth; i++) {
    transformerBlock(names, `${name}.transformer_blocks.${i}`, width, context, false);
    transformerBlock(names, `${name}.temporal_transformer_blocks.${i}`, width, context, true);
  }
  names.linear(`${name}.time_pos_embed.linear_1`, width, width * 4);
  names.linear(`${name}.time_pos_embed.linear_2`, width * 4, width);
  names.add(`${name}.time_mixer.mix_factor`, 1);
  names.linear(`${name}.proj_out`, width, width);
}

/** UNetSpatioTemporalConditionModel. */
export function unetEntries(shape: UnetShape): TensorEntry[] {
  const names = new Names();
  const { blockOutChannels: channels, crossAttentionDim: context } = shape;
  const [first, last] = [channels[0]!, channels.at(-1)!];
  const embedding = first * 4;
  names.conv("conv_in", shape.inChannels, first, 3, 3);
  names.linear("time_embedding.linear_1", first, embedding);
  names.linear("time_embedding.linear_2", embedding, embedding);
  names.linear("add_embedding.linear_1", shape.additionInput, embedding);
  names.linear("add_embedding.linear_2", embedding, embedding);
  let width = first;
  const skips = [first];
  channels.forEach((to, level) => {
    for (let i = 0; i < shape.layersPerBlock[level]!; i++) {
      spatioTemporalRes(names, `down_blocks.${level}.resnets.${i}`, width, to, embedding);
      const depth = shape.downDepths[level]!;
      if (depth > 0) transformer(names, `down_blocks.${level}.attentions.${i}`, to, context, depth);
      width = to;
      skips.push(to);
    }
    if (level === channels.length - 1) return;
    names.conv(`down_blocks.${level}.downsamplers.0.conv`, to, to, 3, 3);
    skips.push(to);
  });
  for (const i of [0, 1]) spatioTemporalRes(names, `mid_block.resnets.${i}`, last, last, embedding);
  transformer(names, "mid_block.attentions.0", last, context, shape.middleDepth);
  [...channels].reverse().forEach((to, level) => {
    for (let i = 0; i <= shape.layersPerBlock.at(-1 - level)!; i++) {
      spatioTemporalRes(names, `up_blocks.${level}.resnets.${i}`, width + skips.pop()!, to, embedding);
      const depth = shape.upDepths[level]!;
      if (depth > 0) transformer(names, `up_blocks.${level}.attentions.${i}`, to, context, depth);
      width = to;
    }
    if (level < channels.length - 1) names.conv(`up_blocks.${level}.upsamplers.0.conv`, to, to, 3, 3);
  });
  names.norm("conv_norm_out", first);
  names.conv("conv_out", first, shape.outChannels, 3, 3);
  return names.entries;
}

function vaeAttention(names: Names, name: string, width: number): void {
  names.norm(`${name}.group_norm`, width);
  for (const layer of ["to_q", "to_k", "to_v", "to_out.0"]) names.linear(`${name}.${layer}`, width, width);
}

function vaeRes(names: Names, name: string, from: number, to: number): void {
  names.norm(`${name}.norm1`, from);
  names.conv(`${name}.conv1`, from, to, 3, 3);
  names.norm(`${name}.norm2`, to);
  names.conv(`${name}.conv2`, to, to, 3, 3);
  if (from !== to) names.conv(`${name}.conv_shortcut`, from, to, 1, 1);
}

/** AutoencoderKLTemporalDecoder. */
export function vaeEntries(shape: VaeShape): TensorEntry[] {
  const names = new Names();
  const { blockOutChannels: channels, layersPerBlock, latentChannels } = shape;
  const [first, last] = [channels[0]!, channels.at(-1)!];
  names.conv("encoder.conv_in", shape.inChannels, first, 3, 3);
  let width = first;
  channels.forEach((to, level) => {
    for (let i = 0; i < layersPerBlock; i++) {
      vaeRes(names, `encoder.down_blocks.${level}.resnets.${i}`, width, to);
      width = to;
    }
    if (level < channels.length - 1) names.conv(`encoder.down_blocks.${level}.downsamplers.0.conv`, to, to, 3, 3);
  });
  vaeRes(names, "encoder.mid_block.resnets.0", last, last);
  vaeAttention(names, "encoder.mid_block.attentions.0", last);
  vaeRes(names, "encoder.mid_block.resnets.1", last, last);
  names.norm("encoder.conv_norm_out", last);
  names.conv("encoder.conv_out", last, latentChannels * 2, 3, 3);
  names.conv("quant_conv", latentChannels * 2, latentChannels * 2, 1, 1);
  names.conv("decoder.conv_in", latentChannels, last, 3, 3);
  for (let i = 0; i < layersPerBlock; i++) {
    spatioTemporalRes(names, `decoder.mid_block.resnets.${i}`, last, last, undefined);
  }
  vaeAttention(names, "decoder.mid_block.attentions.0", last);
  width = last;
  [...channels].reverse().forEach((to, level) => {
    for (let i = 0; i <= layersPerBlock; i++) {
      spatioTemporalRes(names, `decoder.up_blocks.${level}.resnets.${i}`, width, to, undefined);
      width = to;
    }
    if (level < channels.length - 1) names.conv(`decoder.up_blocks.${level}.upsamplers.0.conv`, to, to, 3, 3);
  });
  names.norm("decoder.conv_norm_out", first);
  names.conv("decoder.conv_out", first, shape.outChannels, 3, 3);
  names.conv("decoder.time_conv_out", shape.outChannels, shape.outChannels, 3, 1, 1);
  return names.entries;
}

/** CLIPVisionModelWithProjection. */
export function clipEntries(shape: ClipShape): TensorEntry[] {
  const names = new Names();
  const { hidden, patch } = shape;
  names.add("vision_model.embeddings.class_embedding", hidden);
  names.add("vision_model.embeddings.patch_embedding.weight", hidden, 3, patch, patch);
  names.add("vision_model.embeddings.position_embedding.weight", (shape.image / patch) ** 2 + 1, hidden);
  names.norm("vision_model.pre_layrnorm", hidden);
  for (let i = 0; i < shape.layers; i++) {
    const layer = `vision_model.encoder.layers.${i}`;
    for (const part of ["q", "k", "v", "out"]) names.linear(`${layer}.self_attn.${part}_proj`, hidden, hidden);
    names.norm(`${layer}.layer_norm1`, hidden);
    names.linear(`${layer}.mlp.fc1`, hidden, shape.intermediate);
    names.linear(`${layer}.mlp.fc2`, shape.intermediate, hidden);
    names.norm(`${layer}.layer_norm2`, hidden);
  }
  names.norm("vision_model.post_layernorm", hidden);
  names.linear("visual_projection", hidden, shape.projection, false);
  return names.entries;
}

export type Model = Map<ComponentName, TensorEntry[]>;

export const SVD_XT: { unet: UnetShape; vae: VaeShape; clip: ClipShape } = {
  unet: {
    inChannels: 8,
    outChannels: 4,
    blockOutChannels: [320, 640, 1280, 1280],
    layersPerBlock: [2, 2, 2, 2],
    downDepths: [1, 1, 1, 0],
    upDepths: [0, 1, 1, 1],
    middleDepth: 1,
    crossAttentionDim: 1024,
    additionInput: 768,
  },
  vae: { inChannels: 3, outChannels: 3, latentChannels: 4, blockOutChannels: [128, 256, 512, 512], layersPerBlock: 2 },
  clip: { hidden: 1280, intermediate: 5120, layers: 32, patch: 14, image: 224, projection: 1024 },
};

export function modelOf({ unet, vae, clip }: typeof SVD_XT): Model {
  return new Map<ComponentName, TensorEntry[]>([
    ["unet", unetEntries(unet)],
    ["vae", vaeEntries(vae)],
    ["image_encoder", clipEntries(clip)],
  ]);
}
