import type { OpId } from "@vd/kernels-native";
import type { ExportContext, NamedRow } from "../context";
import { attention } from "./attention";
import { copy, denoiseInput, guide, pointwise, timestepEmbedding, tokenEmbed } from "./elements";
import { depthToSpace, layoutIn, layoutOut, resize, spaceToDepth } from "./layouts";
import { groupNorm, layerNorm } from "./norms";
import { conv, linear } from "./products";

/** Turns one row into nodes and notes what its result holds. */
export type Mapping = (context: ExportContext, row: NamedRow) => void;

/** Every op that has an ONNX form; a row of any other op fails the export. */
export const MAPPINGS: Partial<Readonly<Record<OpId, Mapping>>> = {
  attention,
  conv,
  copy,
  denoise_input: denoiseInput,
  depth_to_space: depthToSpace,
  group_norm: groupNorm,
  guide,
  layer_norm: layerNorm,
  layout_in: layoutIn,
  layout_out: layoutOut,
  linear,
  pointwise,
  resize,
  space_to_depth: spaceToDepth,
  timestep_embedding: timestepEmbedding,
  token_embed: tokenEmbed,
};
