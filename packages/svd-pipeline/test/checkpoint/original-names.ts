import type { TensorEntry } from "@vd/hub";

import { type ClipShape, Names, transformerBlock, type UnetShape, type VaeShape } from "./diffusers-names";

/**
 * Names and shapes as Stability's classes make them; written from their constructors (VideoUNet, Encoder, VideoDecoder,
 * open_clip's VisionTransformer), independently of the conversion.
 */

function openaiRes(
  names: Names,
  name: string,
  from: number,
  to: number,
  embedding: number | undefined,
  kernel: number[],
) {
  names.norm(`${name}.in_layers.0`, from);
  names.conv(`${name}.in_layers.2`, from, to, ...kernel);
  if (embedding !== undefined) names.linear(`${name}.emb_layers.1`, embedding, to);
  names.norm(`${name}.out_layers.0`, to);
  names.conv(`${name}.out_layers.3`, to, to, ...kernel);
  if (from !== to) names.conv(`${name}.skip_connection`, from, to, 1, 1);
}

function videoRes(names: Names, name: string, from: number, to: number, embedding: number): void {
  openaiRes(names, name, from, to, embedding, [3, 3]);
  openaiRes(names, `${name}.time_stack`, to, to, embedding, [3, 1, 1]);
  names.add(`${name}.time_mixer.mix_factor`, 1);
}

function spatialVideoTransformer(names: Names, name: string, width: number, context: number, depth: number): void {
  names.norm(`${name}.norm`, width);
  names.linear(`${name}.proj_in`, width, width);
  for (let i = 0; i < depth; i++) {
    transformerBlock(names, `${name}.transformer_blocks.${i}`, width, context, false);
    transformerBlock(names, `${name}.time_stack.${i}`, width, context, true);
  }
  names.linear(`${name}.proj_out`, width, width);
  names.linear(`${name}.time_pos_embed.0`, width, width * 4);
  names.linear(`${name}.time_pos_embed.2`, width * 4, width);
  names.add(`${name}.time_mixer.mix_factor`, 1);
}

/** VideoUNet; levels up and down have the same attention there. */
export function videoUnetEntries(shape: UnetShape): TensorEntry[] {
  const names = new Names();
  const { blockOutChannels: channels, crossAttentionDim: context } = shape;
  const model = channels[0]!;
  const embedding = model * 4;
  const numResBlocks = shape.layersPerBlock[0]!;
  const prefix = "model.diffusion_model";
  names.linear(`${prefix}.time_embed.0`, model, embedding);
  names.linear(`${prefix}.time_embed.2`, embedding, embedding);
  names.linear(`${prefix}.label_emb.0.0`, shape.additionInput, embedding);
  names.linear(`${prefix}.label_emb.0.2`, embedding, embedding);
  let numInputs = 0;
  const input = (j: number) => `${prefix}.input_blocks.${numInputs}.${j}`;
  names.conv(input(0), shape.inChannels, model, 3, 3);
  numInputs++;
  const inputChannels = [model];
  let width = model;
  channels.forEach((to, level) => {
    for (let i = 0; i < numResBlocks; i++) {
      videoRes(names, input(0), width, to, embedding);
      width = to;
      if (shape.downDepths[level]! > 0) spatialVideoTransformer(names, input(1), to, context, shape.downDepths[level]!);
      inputChannels.push(width);
      numInputs++;
    }
    if (level === channels.length - 1) return;
    names.conv(`${input(0)}.op`, width, width, 3, 3);
    inputChannels.push(width);
    numInputs++;
  });
  videoRes(names, `${prefix}.middle_block.0`, width, width, embedding);
  spatialVideoTransformer(names, `${prefix}.middle_block.1`, width, context, shape.middleDepth);
  videoRes(names, `${prefix}.middle_block.2`, width, width, embedding);
  let numOutputs = 0;
  for (let level = channels.length - 1; level >= 0; level--) {
    for (let i = 0; i <= numResBlocks; i++) {
      let j = 0;
      const next = () => `${prefix}.output_blocks.${numOutputs}.${j++}`;
      videoRes(names, next(), width + inputChannels.pop()!, channels[level]!, embedding);
      width = channels[level]!;
      if (shape.downDepths[level]! > 0)
        spatialVideoTransformer(names, next(), width, context, shape.downDepths[level]!);
      if (level > 0 && i === numResBlocks) names.conv(`${next()}.conv`, width, width, 3, 3);
      numOutputs++;
    }
  }
  names.norm(`${prefix}.out.0`, width);
  names.conv(`${prefix}.out.2`, model, shape.outChannels, 3, 3);
  return names.entries;
}

function resnetBlock(names: Names, name: string, from: number, to: number): void {
  names.norm(`${name}.norm1`, from);
  names.conv(`${name}.conv1`, from, to, 3, 3);
  names.norm(`${name}.norm2`, to);
  names.conv(`${name}.conv2`, to, to, 3, 3);
  if (from !== to) names.conv(`${name}.nin_shortcut`, from, to, 1, 1);
}

function attnBlock(names: Names, name: string, width: number): void {
  names.norm(`${name}.norm`, width);
  for (const layer of ["q", "k", "v", "proj_out"]) names.conv(`${name}.${layer}`, width, width, 1, 1);
}

/** Encoder with z_channels doubled. */
export function encoderEntries(prefix: string, shape: VaeShape): TensorEntry[] {
  const names = new Names();
  const { blockOutChannels: channels } = shape;
  let width = channels[0]!;
  names.conv(`${prefix}.conv_in`, shape.inChannels, width, 3, 3);
  channels.forEach((to, level) => {
    for (let i = 0; i < shape.layersPerBlock; i++) {
      resnetBlock(names, `${prefix}.down.${level}.block.${i}`, width, to);
      width = to;
    }
    if (level < channels.length - 1) names.conv(`${prefix}.down.${level}.downsample.conv`, width, width, 3, 3);
  });
  resnetBlock(names, `${prefix}.mid.block_1`, width, width);
  attnBlock(names, `${prefix}.mid.attn_1`, width);
  resnetBlock(names, `${prefix}.mid.block_2`, width, width);
  names.norm(`${prefix}.norm_out`, width);
  names.conv(`${prefix}.conv_out`, width, shape.latentChannels * 2, 3, 3);
  return names.entries;
}

/** VideoDecoder, or with `video` false the plain Decoder of the files named *_image_decoder. */
export function decoderEntries(prefix: string, shape: VaeShape, video = true): TensorEntry[] {
  const names = new Names();
  const { blockOutChannels: channels } = shape;
  const block = (name: string, from: number, to: number) => {
    resnetBlock(names, name, from, to);
    if (!video) return;
    openaiRes(names, `${name}.time_stack`, to, to, undefined, [3, 1, 1]);
    names.add(`${name}.mix_factor`, 1);
  };
  let width = channels.at(-1)!;
  names.conv(`${prefix}.conv_in`, shape.latentChannels, width, 3, 3);
  block(`${prefix}.mid.block_1`, width, width);
  attnBlock(names, `${prefix}.mid.attn_1`, width);
  block(`${prefix}.mid.block_2`, width, width);
  for (let level = channels.length - 1; level >= 0; level--) {
    for (let i = 0; i <= shape.layersPerBlock; i++) {
      block(`${prefix}.up.${level}.block.${i}`, width, channels[level]!);
      width = channels[level]!;
    }
    if (level > 0) names.conv(`${prefix}.up.${level}.upsample.conv`, width, width, 3, 3);
  }
  names.norm(`${prefix}.norm_out`, width);
  names.conv(`${prefix}.conv_out`, width, shape.outChannels, 3, 3);
  if (video) names.conv(`${prefix}.conv_out.time_mix_conv`, shape.outChannels, shape.outChannels, 3, 1, 1);
  return names.entries;
}

/** Encoder and decoder of the condition's autoencoder (AutoencoderKLModeOnly). */
export function conditionVaeEntries(shape: VaeShape): TensorEntry[] {
  const names = new Names();
  const prefix = "conditioner.embedders.3.encoder";
  names.conv(`${prefix}.quant_conv`, shape.latentChannels * 2, shape.latentChannels * 2, 1, 1);
  names.conv(`${prefix}.post_quant_conv`, shape.latentChannels, shape.latentChannels, 1, 1);
  return [
    ...names.entries,
    ...encoderEntries(`${prefix}.encoder`, shape),
    ...decoderEntries(`${prefix}.decoder`, shape, false),
  ];
}

/** FrozenOpenCLIPImageEmbedder: the vision tower, and what it keeps of the text tower. */
export function openClipEntries(shape: ClipShape): TensorEntry[] {
  const names = new Names();
  const model = "conditioner.embedders.0.open_clip.model";
  const { hidden, patch } = shape;
  names.add(`${model}.positional_embedding`, 77, 1024);
  names.add(`${model}.text_projection`, 1024, 1024);
  names.add(`${model}.logit_scale`);
  names.add(`${model}.token_embedding.weight`, 49408, 1024);
  names.norm(`${model}.ln_final`, 1024);
  const visual = `${model}.visual`;
  names.add(`${visual}.class_embedding`, hidden);
  names.add(`${visual}.positional_embedding`, (shape.image / patch) ** 2 + 1, hidden);
  names.add(`${visual}.proj`, hidden, shape.projection);
  names.add(`${visual}.conv1.weight`, hidden, 3, patch, patch);
  names.norm(`${visual}.ln_pre`, hidden);
  for (let i = 0; i < shape.layers; i++) {
    const block = `${visual}.transformer.resblocks.${i}`;
    names.norm(`${block}.ln_1`, hidden);
    names.add(`${block}.attn.in_proj_weight`, hidden * 3, hidden);
    names.add(`${block}.attn.in_proj_bias`, hidden * 3);
    names.linear(`${block}.attn.out_proj`, hidden, hidden);
    names.norm(`${block}.ln_2`, hidden);
    names.linear(`${block}.mlp.c_fc`, hidden, shape.intermediate);
    names.linear(`${block}.mlp.c_proj`, shape.intermediate, hidden);
  }
  names.norm(`${visual}.ln_post`, hidden);
  return names.entries;
}

/** Everything that a published file holds. */
export function publishedEntries(shape: { unet: UnetShape; vae: VaeShape; clip: ClipShape }): TensorEntry[] {
  return [
    ...videoUnetEntries(shape.unet),
    ...encoderEntries("first_stage_model.encoder", shape.vae),
    ...decoderEntries("first_stage_model.decoder", shape.vae),
    ...openClipEntries(shape.clip),
    ...conditionVaeEntries(shape.vae),
  ];
}
