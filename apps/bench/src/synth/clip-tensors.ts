import type { ClipVisionConfig } from "@vd/svd-pipeline";
import { GAIN, type SyntheticTensor, TensorList } from "./tensors";

/** Deviation of the learned class and position vectors. */
const EMBEDDING_DEVIATION = 0.3;

/** Every weight of a CLIPVisionModelWithProjection. Source: huggingface/transformers models/clip/modeling_clip.py. */
export function clipTensors(config: ClipVisionConfig): SyntheticTensor[] {
  const list = new TensorList();
  const { hiddenSize: width, intermediateSize, patchSize, imageSize, numChannels } = config;
  const root = "vision_model";
  const numTokens = Math.floor(imageSize / patchSize) ** 2 + 1;
  list.add(`${root}.embeddings.class_embedding`, [width], 0, EMBEDDING_DEVIATION);
  const patch = [patchSize, patchSize];
  list.conv(`${root}.embeddings.patch_embedding`, numChannels, width, patch, { bias: false });
  list.add(`${root}.embeddings.position_embedding.weight`, [numTokens, width], 0, EMBEDDING_DEVIATION);
  list.norm(`${root}.pre_layrnorm`, width);
  for (let i = 0; i < config.numLayers; i++) {
    const layer = `${root}.encoder.layers.${i}`;
    list.linear(`${layer}.self_attn.q_proj`, width, width, { gain: GAIN.score });
    list.linear(`${layer}.self_attn.k_proj`, width, width, { gain: GAIN.score });
    list.linear(`${layer}.self_attn.v_proj`, width, width);
    list.linear(`${layer}.self_attn.out_proj`, width, width, { gain: GAIN.branch });
    list.norm(`${layer}.layer_norm1`, width);
    list.linear(`${layer}.mlp.fc1`, width, intermediateSize);
    list.linear(`${layer}.mlp.fc2`, intermediateSize, width, { gain: GAIN.branch });
    list.norm(`${layer}.layer_norm2`, width);
  }
  list.norm(`${root}.post_layernorm`, width);
  list.linear("visual_projection", width, config.projectionDim, { bias: false });
  return list.tensors;
}
