// Generated from ops/*/*.op.ts by `pnpm gen`. Do not edit.
import type { OpCases } from "../contract/define-case";
import attention from "./attention/attention.cases";
import attentionBackward from "./attention_backward/attention_backward.cases";
import attentionF8 from "./attention_f8/attention_f8.cases";
import attentionF8Codes from "./attention_f8_codes/attention_f8_codes.cases";
import attentionQ8 from "./attention_q8/attention_q8.cases";
import batchNorm from "./batch_norm/batch_norm.cases";
import conv from "./conv/conv.cases";
import convQ8 from "./conv_q8/conv_q8.cases";
import convQ8Codes from "./conv_q8_codes/conv_q8_codes.cases";
import convWinograd from "./conv_winograd/conv_winograd.cases";
import copy from "./copy/copy.cases";
import denoiseInput from "./denoise_input/denoise_input.cases";
import depthToSpace from "./depth_to_space/depth_to_space.cases";
import elementwise from "./elementwise/elementwise.cases";
import framesOut from "./frames_out/frames_out.cases";
import groupNorm from "./group_norm/group_norm.cases";
import groupNormConv from "./group_norm_conv/group_norm_conv.cases";
import groupNormConvQ8 from "./group_norm_conv_q8/group_norm_conv_q8.cases";
import groupNormQ8 from "./group_norm_q8/group_norm_q8.cases";
import groupNormStats from "./group_norm_stats/group_norm_stats.cases";
import guide from "./guide/guide.cases";
import layerNorm from "./layer_norm/layer_norm.cases";
import layerNormLinear from "./layer_norm_linear/layer_norm_linear.cases";
import layerNormLinearQ8 from "./layer_norm_linear_q8/layer_norm_linear_q8.cases";
import layerNormLinearQ8Codes from "./layer_norm_linear_q8_codes/layer_norm_linear_q8_codes.cases";
import layerNormQ8 from "./layer_norm_q8/layer_norm_q8.cases";
import layoutIn from "./layout_in/layout_in.cases";
import layoutOut from "./layout_out/layout_out.cases";
import linear from "./linear/linear.cases";
import linearQ8 from "./linear_q8/linear_q8.cases";
import linearQ8Codes from "./linear_q8_codes/linear_q8_codes.cases";
import pointwise from "./pointwise/pointwise.cases";
import pool from "./pool/pool.cases";
import quantize from "./quantize/quantize.cases";
import resize from "./resize/resize.cases";
import rmsNorm from "./rms_norm/rms_norm.cases";
import samplerStep from "./sampler_step/sampler_step.cases";
import spaceToDepth from "./space_to_depth/space_to_depth.cases";
import timestepEmbedding from "./timestep_embedding/timestep_embedding.cases";
import tokenEmbed from "./token_embed/token_embed.cases";

/** Correctness and bench cases by op. */
export const OP_CASES = {
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
} satisfies Record<string, OpCases>;
