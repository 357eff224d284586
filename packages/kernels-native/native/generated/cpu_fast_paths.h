// Generated from ops/*/cpu/*_fast.cc by `pnpm gen`. Do not edit.
#pragma once

/** X(id, ArgsType) for every op with a fast path on the CPU. */
#define VD_FOR_EACH_CPU_FAST_PATH(X) \
  X(attention, AttentionArgs) \
  X(attention_backward, AttentionBackwardArgs) \
  X(attention_f8, AttentionF8Args) \
  X(attention_f8_codes, AttentionF8CodesArgs) \
  X(attention_q8, AttentionQ8Args) \
  X(batch_norm, BatchNormArgs) \
  X(conv, ConvArgs) \
  X(conv_q8, ConvQ8Args) \
  X(conv_q8_codes, ConvQ8CodesArgs) \
  X(conv_winograd, ConvWinogradArgs) \
  X(copy, CopyArgs) \
  X(denoise_input, DenoiseInputArgs) \
  X(depth_to_space, DepthToSpaceArgs) \
  X(elementwise, ElementwiseArgs) \
  X(frames_out, FramesOutArgs) \
  X(group_norm, GroupNormArgs) \
  X(group_norm_conv, GroupNormConvArgs) \
  X(group_norm_conv_q8, GroupNormConvQ8Args) \
  X(group_norm_q8, GroupNormQ8Args) \
  X(group_norm_stats, GroupNormStatsArgs) \
  X(guide, GuideArgs) \
  X(layer_norm, LayerNormArgs) \
  X(layer_norm_linear, LayerNormLinearArgs) \
  X(layer_norm_linear_q8, LayerNormLinearQ8Args) \
  X(layer_norm_linear_q8_codes, LayerNormLinearQ8CodesArgs) \
  X(layer_norm_q8, LayerNormQ8Args) \
  X(layout_in, LayoutInArgs) \
  X(layout_out, LayoutOutArgs) \
  X(linear, LinearArgs) \
  X(linear_q8, LinearQ8Args) \
  X(linear_q8_codes, LinearQ8CodesArgs) \
  X(pointwise, PointwiseArgs) \
  X(pool, PoolArgs) \
  X(quantize, QuantizeArgs) \
  X(resize, ResizeArgs) \
  X(rms_norm, RmsNormArgs) \
  X(sampler_step, SamplerStepArgs) \
  X(space_to_depth, SpaceToDepthArgs) \
  X(timestep_embedding, TimestepEmbeddingArgs) \
  X(token_embed, TokenEmbedArgs)
