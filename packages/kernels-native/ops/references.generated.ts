// Generated from ops/*/*.op.ts by `pnpm gen`. Do not edit.
import type { OpId } from "../contract";
import type { Reference } from "../contract/reference";
import attention from "./attention/attention.reference";
import attentionBackward from "./attention_backward/attention_backward.reference";
import attentionF8 from "./attention_f8/attention_f8.reference";
import attentionF8Codes from "./attention_f8_codes/attention_f8_codes.reference";
import attentionQ8 from "./attention_q8/attention_q8.reference";
import batchNorm from "./batch_norm/batch_norm.reference";
import conv from "./conv/conv.reference";
import convQ8 from "./conv_q8/conv_q8.reference";
import convQ8Codes from "./conv_q8_codes/conv_q8_codes.reference";
import convWinograd from "./conv_winograd/conv_winograd.reference";
import copy from "./copy/copy.reference";
import denoiseInput from "./denoise_input/denoise_input.reference";
import depthToSpace from "./depth_to_space/depth_to_space.reference";
import elementwise from "./elementwise/elementwise.reference";
import framesOut from "./frames_out/frames_out.reference";
import groupNorm from "./group_norm/group_norm.reference";
import groupNormConv from "./group_norm_conv/group_norm_conv.reference";
import groupNormConvQ8 from "./group_norm_conv_q8/group_norm_conv_q8.reference";
import groupNormQ8 from "./group_norm_q8/group_norm_q8.reference";
import groupNormStats from "./group_norm_stats/group_norm_stats.reference";
import guide from "./guide/guide.reference";
import layerNorm from "./layer_norm/layer_norm.reference";
import layerNormLinear from "./layer_norm_linear/layer_norm_linear.reference";
import layerNormLinearQ8 from "./layer_norm_linear_q8/layer_norm_linear_q8.reference";
import layerNormLinearQ8Codes from "./layer_norm_linear_q8_codes/layer_norm_linear_q8_codes.reference";
import layerNormQ8 from "./layer_norm_q8/layer_norm_q8.reference";
import layoutIn from "./layout_in/layout_in.reference";
import layoutOut from "./layout_out/layout_out.reference";
import linear from "./linear/linear.reference";
import linearQ8 from "./linear_q8/linear_q8.reference";
import linearQ8Codes from "./linear_q8_codes/linear_q8_codes.reference";
import pointwise from "./pointwise/pointwise.reference";
import pool from "./pool/pool.reference";
import quantize from "./quantize/quantize.reference";
import resize from "./resize/resize.reference";
import rmsNorm from "./rms_norm/rms_norm.reference";
import samplerStep from "./sampler_step/sampler_step.reference";
import spaceToDepth from "./space_to_depth/space_to_depth.reference";
import timestepEmbedding from "./timestep_embedding/timestep_embedding.reference";
import tokenEmbed from "./token_embed/token_embed.reference";

export * from "../contract/reference";

/** Every op in float64, written from its formula and not from any backend's code. */
export const REFERENCES: Readonly<Record<OpId, Reference>> = {
  attention: attention,
  attention_backward: attentionBackward,
  attention_f8: attentionF8,
  attention_f8_codes: attentionF8Codes,
  attention_q8: attentionQ8,
  batch_norm: batchNorm,
  conv: conv,
  conv_q8: convQ8,
  conv_q8_codes: convQ8Codes,
  conv_winograd: convWinograd,
  copy: copy,
  denoise_input: denoiseInput,
  depth_to_space: depthToSpace,
  elementwise: elementwise,
  frames_out: framesOut,
  group_norm: groupNorm,
  group_norm_conv: groupNormConv,
  group_norm_conv_q8: groupNormConvQ8,
  group_norm_q8: groupNormQ8,
  group_norm_stats: groupNormStats,
  guide: guide,
  layer_norm: layerNorm,
  layer_norm_linear: layerNormLinear,
  layer_norm_linear_q8: layerNormLinearQ8,
  layer_norm_linear_q8_codes: layerNormLinearQ8Codes,
  layer_norm_q8: layerNormQ8,
  layout_in: layoutIn,
  layout_out: layoutOut,
  linear: linear,
  linear_q8: linearQ8,
  linear_q8_codes: linearQ8Codes,
  pointwise: pointwise,
  pool: pool,
  quantize: quantize,
  resize: resize,
  rms_norm: rmsNorm,
  sampler_step: samplerStep,
  space_to_depth: spaceToDepth,
  timestep_embedding: timestepEmbedding,
  token_embed: tokenEmbed,
};
