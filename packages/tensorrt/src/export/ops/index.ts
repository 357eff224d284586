import type { OpId } from "@vd/kernels-native";
import type { ExportContext, NamedRow } from "../context";
import { REFUSALS, type Refusal } from "../refusal";
import { attention } from "./attention";
import { attentionBackward } from "./attention-backward";
import { attentionQ8 } from "./attention-q8";
import { conv, convQ8, convQ8Codes, convWinograd } from "./convolutions";
import { copy, denoiseInput, framesOut, guide, pointwise, timestepEmbedding, tokenEmbed } from "./elements";
import { elementwise } from "./elementwise";
import { depthToSpace, layoutIn, layoutOut, pool, resize, spaceToDepth } from "./layouts";
import { linearQ8, linearQ8Codes } from "./linear-q8";
import { batchNorm, groupNorm, layerNorm, rmsNorm } from "./norms";
import { linear } from "./products";
import { groupNormQ8, layerNormQ8, quantize } from "./quantize";
import { samplerStep } from "./sampler-step";
import { groupNormStats } from "./statistics";

/** Turns one row into nodes and notes what its results hold. */
export type Mapping = (context: ExportContext, row: NamedRow) => void;

/** How an op is written as ONNX. */
export interface OnnxForm {
  readonly map: Mapping;
  /** What of an op has no ONNX form. */
  readonly refuses?: readonly Refusal[];
  /** What the form does otherwise than the kernels, where both are right: a phrase without a full stop. */
  readonly note?: string;
}

const hidden = [REFUSALS.sightOfFreeSize, REFUSALS.packedFreeSize];
const codes =
  "codes are numbers of the model's type that QuantizeLinear and DequantizeLinear with a scale of 1 have rounded: multiplication " +
  "with 1 / scale is the op's own";
const dequantised =
  "codes are multiplied with their scales before a product in float32, since runtimes make products of int8 in which 16 bits saturate";

/** Every op's ONNX form; a row of an op without one fails the export. */
export const ONNX_FORMS: Partial<Readonly<Record<OpId, OnnxForm>>> = {
  attention: { map: attention, refuses: hidden },
  attention_backward: { map: attentionBackward, refuses: hidden, note: "in float32 whatever the model's type" },
  attention_q8: { map: attentionQ8, note: "probabilities are not rounded, as in the definition" },
  batch_norm: { map: batchNorm },
  conv: { map: conv },
  conv_q8: { map: convQ8, note: dequantised },
  conv_q8_codes: { map: convQ8Codes, note: dequantised },
  conv_winograd: { map: convWinograd, note: "a plain convolution: which products are saved is the runtime's affair" },
  copy: { map: copy, note: "another name for the same values" },
  denoise_input: { map: denoiseInput },
  depth_to_space: { map: depthToSpace },
  elementwise: { map: elementwise },
  frames_out: { map: framesOut },
  group_norm: { map: groupNorm },
  group_norm_q8: { map: groupNormQ8, note: codes },
  group_norm_stats: { map: groupNormStats },
  guide: { map: guide },
  layer_norm: { map: layerNorm },
  layer_norm_q8: { map: layerNormQ8, note: codes },
  layout_in: { map: layoutIn },
  layout_out: { map: layoutOut },
  linear: { map: linear },
  linear_q8: { map: linearQ8, note: dequantised },
  linear_q8_codes: { map: linearQ8Codes, note: dequantised },
  pointwise: { map: pointwise },
  pool: { map: pool },
  quantize: { map: quantize, note: codes },
  resize: { map: resize },
  rms_norm: { map: rmsNorm },
  sampler_step: {
    map: samplerStep,
    refuses: [REFUSALS.thresholdOfFreeSize],
    note: "in float32 whatever the model's type; philox as arithmetic on int64; NaN counts as ∞ among the magnitudes of thresholding",
  },
  space_to_depth: { map: spaceToDepth },
  timestep_embedding: { map: timestepEmbedding },
  token_embed: { map: tokenEmbed },
};
