import { COUNT } from "@vd/kernels-native";
import {
  clipLayer,
  conv,
  type Graph,
  layerNorm,
  linear,
  type PausableModule,
  pausable,
  requireLayer,
  type Tensor,
  tokens,
  type Weights,
} from "@vd/tensor";
import type { ClipVisionConfig } from "./config";

/** What the encoder gives: the projected class token, and for tests the rest. */
export interface ClipVisionOutputs {
  /** [B,1,1,projectionDim]. */
  imageEmbeds: Tensor;
  /** The class token after the last norm, [B,1,1,C]. */
  pooled: Tensor;
  /** All tokens before the last norm, [B,1,S,C]. */
  lastHiddenState: Tensor;
}

/** The first token of each picture: [B,1,S,C] → [B,1,1,C], a view. */
function firstToken(x: Tensor): Tensor {
  const [batch, , numTokens, channels] = x.dims as [number, number, number, number];
  return { ...x, dims: [batch, 1, 1, channels], pitch: numTokens * x.pitch };
}

/** CLIP's vision transformer with projection. x: normalised pixels [B,1,H,W,numChannels] → embeddings.
 *  Source: transformers models/clip/modeling_clip.py CLIPVisionModelWithProjection. */
export function clipVision(root: Weights, config: ClipVisionConfig): PausableModule<[x: Tensor], ClipVisionOutputs> {
  requireLayer("clipVision", root, config, {
    hiddenSize: COUNT,
    patchSize: COUNT,
    imageSize: COUNT,
    numChannels: COUNT,
  });
  const { hiddenSize: channels, patchSize: patch, imageSize, layerNormEps: eps } = config;
  const w = root.at("vision_model");
  const embeddings = w.at("embeddings");
  const patches = embeddings.at("patch_embedding");
  const kernel = {
    cin: config.numChannels,
    cout: channels,
    kernel: [1, patch, patch] as [number, number, number],
    bias: false,
  };
  const embedPatches = conv(patches, { ...kernel, stride: [1, patch, patch], padding: [0, 0, 0, 0, 0, 0] });
  const numTokens = Math.floor(imageSize / patch) ** 2 + 1;
  const token = embeddings.tensor("class_embedding", [channels]);
  const position = embeddings.at("position_embedding").tensor("weight", [numTokens, channels]);
  const normIn = layerNorm(w.at("pre_layrnorm"), { channels, eps });
  const layers = Array.from({ length: config.numLayers }, (_, i) => clipLayer(w.at("encoder.layers").at(i), config));
  const normOut = layerNorm(w.at("post_layernorm"), { channels, eps });
  const project = linear(root.at("visual_projection"), { cin: channels, cout: config.projectionDim, bias: false });
  return pausable(function* (g: Graph, x: Tensor) {
    const grid = embedPatches(g, x);
    g.tap(patches.path, grid);
    yield;
    const embedded = g.tokenEmbed({ name: embeddings.path, x: tokens(grid), token, position });
    g.tap(embeddings.path, embedded);
    let h = normIn(g, embedded);
    g.tap(w.at("pre_layrnorm").path, h);
    yield;
    for (const layer of layers) {
      h = layer(g, h);
      yield;
    }
    const pooled = normOut(g, firstToken(h));
    g.tap(w.at("post_layernorm").path, pooled);
    const imageEmbeds = project(g, pooled);
    g.tap(root.at("visual_projection").path, imageEmbeds);
    return { imageEmbeds, pooled, lastHiddenState: h };
  });
}
