import type { OpId } from "@vd/kernels-native";
import type { PlainCall, PlainResults } from "../plain";
import { attention } from "./attention";
import {
  copy,
  denoiseInput,
  framesOut,
  guide,
  layoutIn,
  layoutOut,
  pointwise,
  samplerStep,
  timestepEmbedding,
  tokenEmbed,
} from "./elements";
import { groupNorm, groupNormStats, layerNorm } from "./norms";
import { conv, linear } from "./products";
import { depthToSpace, resize, spaceToDepth } from "./rearranging";

/** Every op in float64, written from its formula and not from any backend's code. */
export const PLAIN_OPS: Readonly<Record<OpId, (call: PlainCall) => PlainResults>> = {
  attention,
  conv,
  copy,
  denoise_input: denoiseInput,
  depth_to_space: depthToSpace,
  frames_out: framesOut,
  group_norm: groupNorm,
  group_norm_stats: groupNormStats,
  guide,
  layer_norm: layerNorm,
  layout_in: layoutIn,
  layout_out: layoutOut,
  linear,
  pointwise,
  resize,
  sampler_step: samplerStep,
  space_to_depth: spaceToDepth,
  timestep_embedding: timestepEmbedding,
  token_embed: tokenEmbed,
};
