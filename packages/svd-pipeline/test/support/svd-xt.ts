import type { TensorEntry } from "@vd/hub";
import { allocateBuffer } from "@vd/kernels-native";
import { makeStorage, packedBytes, type WeightEntry, Weights } from "@vd/tensor";
import { parseVaeConfig } from "@vd/vae-opt";
import { parseClipVisionConfig, parseUnetConfig } from "../../src/index";
import type { ModelComponents } from "../../src/opening/components";
import { modelOf, SVD_XT } from "../checkpoint/diffusers-names";

/** Weights of these shapes that all lie in one block of zeros, as large as the largest of them. Its pages are never
 *  written, so they take no memory. */
function emptyWeights(label: string, tensors: readonly TensorEntry[]): Weights {
  const bytesOf = ({ shape }: TensorEntry) => packedBytes(shape, "f16");
  const buffer = allocateBuffer(Math.max(...tensors.map(bytesOf)));
  const entryOf = (tensor: TensorEntry): WeightEntry => {
    const storage = makeStorage("weights", bytesOf(tensor), tensor.name, { buffer, byteOffset: 0 });
    return { dtype: "f16", shape: tensor.shape, storage, byteOffset: 0 };
  };
  return Weights.fromEntries(label, new Map(tensors.map((tensor) => [tensor.name, entryOf(tensor)])));
}

/** Returns SVD-XT as it is published: its own configurations, weights of its names and shapes. */
export function svdXt(): ModelComponents {
  const tensors = modelOf(SVD_XT);
  const { unet, vae, clip } = SVD_XT;
  return {
    source: "svd-xt",
    unet: {
      config: parseUnetConfig({
        block_out_channels: unet.blockOutChannels,
        num_attention_heads: [5, 10, 20, 20],
        cross_attention_dim: unet.crossAttentionDim,
        num_frames: 25,
      }),
      weights: emptyWeights("unet", tensors.get("unet")!),
    },
    vae: {
      config: parseVaeConfig({ block_out_channels: vae.blockOutChannels, layers_per_block: vae.layersPerBlock }),
      weights: emptyWeights("vae", tensors.get("vae")!),
    },
    imageEncoder: {
      config: parseClipVisionConfig({
        hidden_size: clip.hidden,
        intermediate_size: clip.intermediate,
        num_hidden_layers: clip.layers,
        num_attention_heads: 16,
        patch_size: clip.patch,
        projection_dim: clip.projection,
        hidden_act: "gelu",
      }),
      weights: emptyWeights("image_encoder", tensors.get("image_encoder")!),
    },
    scheduler: {},
    clipPixels: { size: 224, mean: [0, 0, 0], std: [1, 1, 1] },
    files: [],
  };
}
