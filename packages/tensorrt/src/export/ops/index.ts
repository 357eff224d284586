import type { OpId } from "@vd/kernels-native";
import type { ExportContext, NamedRow } from "../context";
import { attention } from "./attention";
import { copy, denoiseInput, guide, pointwise, timestepEmbedding, tokenEmbed } from "./elements";
import { elementwise } from "./elementwise";
import { depthToSpace, layoutIn, layoutOut, pool, resize, spaceToDepth } from "./layouts";
import { batchNorm, groupNorm, layerNorm, rmsNorm } from "./norms";
import { conv, linear } from "./products";

/** Turns one row into nodes and notes what its result holds. */
export type Mapping = (context: ExportContext, row: NamedRow) => void;

/** Every op that has an ONNX form; a row of any other op fails the export. */
export const MAPPINGS: Partial<Readonly<Record<OpId, Mapping>>> = {
  attention,
  batch_norm: batchNorm,
  conv,
  copy,
  denoise_input: denoiseInput,
  depth_to_space: depthToSpace,
  elementwise,
  group_norm: groupNorm,
  guide,
  layer_norm: layerNorm,
  layout_in: layoutIn,
  layout_out: layoutOut,
  linear,
  pointwise,
  pool,
  resize,
  rms_norm: rmsNorm,
  space_to_depth: spaceToDepth,
  timestep_embedding: timestepEmbedding,
  token_embed: tokenEmbed,
};
