// Generated from ops/*/*.op.ts by `pnpm gen`. Do not edit.
import type { OpDefinition } from "./define-op";
import attention from "../ops/attention/attention.op";
import attentionBackward from "../ops/attention_backward/attention_backward.op";
import attentionF8 from "../ops/attention_f8/attention_f8.op";
import attentionF8Codes from "../ops/attention_f8_codes/attention_f8_codes.op";
import attentionQ8 from "../ops/attention_q8/attention_q8.op";
import batchNorm from "../ops/batch_norm/batch_norm.op";
import conv from "../ops/conv/conv.op";
import convQ8 from "../ops/conv_q8/conv_q8.op";
import convQ8Codes from "../ops/conv_q8_codes/conv_q8_codes.op";
import convWinograd from "../ops/conv_winograd/conv_winograd.op";
import copy from "../ops/copy/copy.op";
import denoiseInput from "../ops/denoise_input/denoise_input.op";
import depthToSpace from "../ops/depth_to_space/depth_to_space.op";
import elementwise from "../ops/elementwise/elementwise.op";
import framesOut from "../ops/frames_out/frames_out.op";
import groupNorm from "../ops/group_norm/group_norm.op";
import groupNormConv from "../ops/group_norm_conv/group_norm_conv.op";
import groupNormConvQ8 from "../ops/group_norm_conv_q8/group_norm_conv_q8.op";
import groupNormQ8 from "../ops/group_norm_q8/group_norm_q8.op";
import groupNormStats from "../ops/group_norm_stats/group_norm_stats.op";
import guide from "../ops/guide/guide.op";
import layerNorm from "../ops/layer_norm/layer_norm.op";
import layerNormLinear from "../ops/layer_norm_linear/layer_norm_linear.op";
import layerNormLinearQ8 from "../ops/layer_norm_linear_q8/layer_norm_linear_q8.op";
import layerNormLinearQ8Codes from "../ops/layer_norm_linear_q8_codes/layer_norm_linear_q8_codes.op";
import layerNormQ8 from "../ops/layer_norm_q8/layer_norm_q8.op";
import layoutIn from "../ops/layout_in/layout_in.op";
import layoutOut from "../ops/layout_out/layout_out.op";
import linear from "../ops/linear/linear.op";
import linearQ8 from "../ops/linear_q8/linear_q8.op";
import linearQ8Codes from "../ops/linear_q8_codes/linear_q8_codes.op";
import pointwise from "../ops/pointwise/pointwise.op";
import pool from "../ops/pool/pool.op";
import quantize from "../ops/quantize/quantize.op";
import resize from "../ops/resize/resize.op";
import rmsNorm from "../ops/rms_norm/rms_norm.op";
import samplerStep from "../ops/sampler_step/sampler_step.op";
import spaceToDepth from "../ops/space_to_depth/space_to_depth.op";
import timestepEmbedding from "../ops/timestep_embedding/timestep_embedding.op";
import tokenEmbed from "../ops/token_embed/token_embed.op";

/** Every op by its id; the order is the numbering that the addon uses. */
export const OPS = {
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
} as const satisfies Record<string, OpDefinition>;

/** The id of an op. */
export type OpId = keyof typeof OPS;

/** Ops with a fast path on the CPU: those with a file `ops/<op>/cpu/<op>_fast.cc`. */
export const CPU_FAST_PATHS: readonly OpId[] = ["attention","attention_backward","attention_f8","attention_f8_codes","attention_q8","batch_norm","conv","conv_q8","conv_q8_codes","conv_winograd","copy","denoise_input","depth_to_space","elementwise","frames_out","group_norm","group_norm_conv","group_norm_conv_q8","group_norm_q8","group_norm_stats","guide","layer_norm","layer_norm_linear","layer_norm_linear_q8","layer_norm_linear_q8_codes","layer_norm_q8","layout_in","layout_out","linear","linear_q8","linear_q8_codes","pointwise","pool","quantize","resize","rms_norm","sampler_step","space_to_depth","timestep_embedding","token_embed"];
