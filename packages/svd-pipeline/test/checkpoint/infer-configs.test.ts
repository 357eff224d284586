import type { TensorEntry } from "@vd/hub";
import { describe, expect, it } from "vitest";
import { thrownBy } from "../../../../tooling/testing/failure";
import { type ComponentName, type InferenceOptions, inferConfigs } from "../../src/checkpoint/index";
import { parseClipVisionConfig } from "../../src/models/clip-vision/config";
import { parseUnetConfig } from "../../src/models/unet/config";
import { modelOf, SVD_XT } from "./diffusers-names";

const infer = (shape: typeof SVD_XT, options?: InferenceOptions) => {
  const asMap = (entries: TensorEntry[]) => new Map(entries.map((entry) => [entry.name, entry]));
  return inferConfigs(new Map([...modelOf(shape)].map(([name, entries]) => [name, asMap(entries)])), options);
};

describe("inferConfigs", () => {
  it("gives the published configuration of SVD-XT", () => {
    const { unet, vae, image_encoder, scheduler } = infer(SVD_XT);
    expect(unet).toEqual({
      _class_name: "UNetSpatioTemporalConditionModel",
      addition_time_embed_dim: 256,
      block_out_channels: [320, 640, 1280, 1280],
      cross_attention_dim: 1024,
      down_block_types: [...Array(3).fill("CrossAttnDownBlockSpatioTemporal"), "DownBlockSpatioTemporal"],
      in_channels: 8,
      layers_per_block: 2,
      num_attention_heads: [5, 10, 20, 20],
      num_frames: 25,
      out_channels: 4,
      projection_class_embeddings_input_dim: 768,
      sample_size: 96,
      transformer_layers_per_block: 1,
      up_block_types: ["UpBlockSpatioTemporal", ...Array(3).fill("CrossAttnUpBlockSpatioTemporal")],
    });
    expect(vae).toMatchObject({
      block_out_channels: [128, 256, 512, 512],
      force_upcast: true,
      in_channels: 3,
      latent_channels: 4,
      layers_per_block: 2,
      out_channels: 3,
      scaling_factor: 0.18215,
    });
    expect(image_encoder).toMatchObject({
      hidden_act: "gelu",
      hidden_size: 1280,
      image_size: 224,
      intermediate_size: 5120,
      num_attention_heads: 16,
      num_hidden_layers: 32,
      patch_size: 14,
      projection_dim: 1024,
    });
    expect(scheduler).toMatchObject({
      _class_name: "EulerDiscreteScheduler",
      sigma_max: 700,
      prediction_type: "v_prediction",
    });
  });

  it("writes what the models read", () => {
    const shape = {
      ...SVD_XT,
      unet: {
        ...SVD_XT.unet,
        blockOutChannels: [64, 128, 192],
        layersPerBlock: [1, 3, 2],
        downDepths: [0, 2, 1],
        upDepths: [1, 2, 0],
        middleDepth: 1,
        additionInput: 96,
      },
      clip: { hidden: 192, intermediate: 300, layers: 3, patch: 16, image: 64, projection: 48 },
    };
    const { unet, image_encoder } = infer(shape, { numFrames: 8 });
    expect(parseUnetConfig(unet)).toMatchObject({
      blockOutChannels: [64, 128, 192],
      downAttention: [false, true, true],
      upAttention: [true, true, false],
      layersPerBlock: [1, 3, 2],
      transformerLayers: [2, 2, 1],
      numHeads: [1, 2, 3],
      crossAttentionDim: [1024, 1024, 1024],
      additionTimeEmbedDim: 32,
      additionEmbedInput: 96,
      numFrames: 8,
    });
    expect(parseClipVisionConfig(image_encoder)).toMatchObject({
      hiddenSize: 192,
      intermediateSize: 300,
      projectionDim: 48,
      numLayers: 3,
      numHeads: 3,
      imageSize: 64,
      patchSize: 16,
    });
  });

  it("knows the attention of levels that have it on one way only", () => {
    const unet = {
      ...SVD_XT.unet,
      blockOutChannels: [64, 64],
      layersPerBlock: [1, 1],
      downDepths: [0, 0],
      upDepths: [2, 3],
      middleDepth: 2,
    };
    const found = infer({ ...SVD_XT, unet }).unet;
    expect(found.transformer_layers_per_block).toEqual([3, 2]);
    expect(found.down_block_types).toEqual(["DownBlockSpatioTemporal", "DownBlockSpatioTemporal"]);
    expect(found.up_block_types).toEqual(["CrossAttnUpBlockSpatioTemporal", "CrossAttnUpBlockSpatioTemporal"]);
  });

  it("takes other heads on request, and refuses channels that do not divide", () => {
    const unet = { ...SVD_XT.unet, blockOutChannels: [32, 96, 96, 96] };
    expect(infer({ ...SVD_XT, unet }, { headChannels: 32 }).unet.num_attention_heads).toEqual([1, 3, 3, 3]);
    expect(thrownBy(() => infer({ ...SVD_XT, unet })).message).toMatch(/divide into heads of 64, got 96/);
    expect(infer({ ...SVD_XT }, { clipHeads: 20 }).image_encoder.num_attention_heads).toBe(20);
  });

  it("names the tensor that a configuration cannot do without", () => {
    const error = thrownBy(() => inferConfigs(new Map<ComponentName, Map<string, TensorEntry>>()));
    expect(error.code).toBe("weights");
    expect(error.message).toMatch(/class_embedding\] expected a tensor with a size in dimension 0, got no such tensor/);
    const clip = { ...SVD_XT.clip, hidden: 100 };
    expect(thrownBy(() => infer({ ...SVD_XT, clip })).message).toMatch(/divides by 64, got 100/);
  });
});
