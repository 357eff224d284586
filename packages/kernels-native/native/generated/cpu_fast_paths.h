// Generated from ops/*/cpu/*_fast.cc by `pnpm gen`. Do not edit.
#pragma once

/** X(id, ArgsType) for every op with a fast path on the CPU. */
#define VD_FOR_EACH_CPU_FAST_PATH(X) \
  X(attention, AttentionArgs) \
  X(batch_norm, BatchNormArgs) \
  X(conv, ConvArgs) \
  X(conv_winograd, ConvWinogradArgs) \
  X(elementwise, ElementwiseArgs) \
  X(frames_out, FramesOutArgs) \
  X(group_norm, GroupNormArgs) \
  X(group_norm_conv, GroupNormConvArgs) \
  X(group_norm_stats, GroupNormStatsArgs) \
  X(layer_norm, LayerNormArgs) \
  X(layout_in, LayoutInArgs) \
  X(layout_out, LayoutOutArgs) \
  X(linear, LinearArgs) \
  X(pointwise, PointwiseArgs) \
  X(pool, PoolArgs) \
  X(resize, ResizeArgs) \
  X(rms_norm, RmsNormArgs) \
  X(sampler_step, SamplerStepArgs)
