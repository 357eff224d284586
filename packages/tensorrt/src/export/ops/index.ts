import type { OpId } from "@vd/kernels-native";
import type { ExportContext, NamedRow } from "../context";
import { attention } from "./attention";
import { attentionBackward } from "./attention-backward";
import { attentionF8, attentionF8Codes, attentionQ8 } from "./attention-q8";
import { conv, convQ8, convQ8Codes, normedConv, normedConvQ8 } from "./convolutions";
import { copy, denoiseInput, framesOut, guide, pointwise, timestepEmbedding, tokenEmbed } from "./elements";
import { elementwise } from "./elementwise";
import { depthToSpace, layoutIn, layoutOut, pool, resize, spaceToDepth } from "./layouts";
import { layerNormLinearQ8, layerNormLinearQ8Codes, linearQ8, linearQ8Codes } from "./linear-q8";
import { batchNorm, groupNorm, layerNorm, rmsNorm } from "./norms";
import { layerNormLinear, linear } from "./products";
import { groupNormQ8, layerNormQ8, quantize } from "./quantize";
import { samplerStep } from "./sampler-step";
import { groupNormStats } from "./statistics";

/** Turns one row into nodes and notes what its results hold. */
export type Mapping = (context: ExportContext, row: NamedRow) => void;

/** Every op that has an ONNX form; a row of any other op fails the export. {@link ONNX_FORMS} says what they are made of. */
export const MAPPINGS: { [Op in OpId]?: Mapping | undefined } = {
  attention,
  attention_backward: attentionBackward,
  attention_f8: attentionF8,
  attention_f8_codes: attentionF8Codes,
  attention_q8: attentionQ8,
  batch_norm: batchNorm,
  conv,
  conv_q8: convQ8,
  conv_q8_codes: convQ8Codes,
  conv_winograd: normedConv,
  copy,
  denoise_input: denoiseInput,
  depth_to_space: depthToSpace,
  elementwise,
  frames_out: framesOut,
  group_norm: groupNorm,
  group_norm_conv: normedConv,
  group_norm_conv_q8: normedConvQ8,
  group_norm_q8: groupNormQ8,
  group_norm_stats: groupNormStats,
  guide,
  layer_norm: layerNorm,
  layer_norm_linear: layerNormLinear,
  layer_norm_linear_q8: layerNormLinearQ8,
  layer_norm_linear_q8_codes: layerNormLinearQ8Codes,
  layer_norm_q8: layerNormQ8,
  layout_in: layoutIn,
  layout_out: layoutOut,
  linear,
  linear_q8: linearQ8,
  linear_q8_codes: linearQ8Codes,
  pointwise,
  pool,
  quantize,
  resize,
  rms_norm: rmsNorm,
  sampler_step: samplerStep,
  space_to_depth: spaceToDepth,
  timestep_embedding: timestepEmbedding,
  token_embed: tokenEmbed,
};
