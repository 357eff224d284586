type Json = Readonly<Record<string, unknown>>;

/** Names of models that can be made. */
export const PRESETS = ["svd-xt", "svd", "tiny"] as const;
/** One of {@link PRESETS}. */
export type Preset = (typeof PRESETS)[number];

/** The configuration files of a model in the standard folder layout, by path. */
export type ModelConfigs = Readonly<Record<ConfigPath, Json>>;

type ConfigPath =
  | "model_index.json"
  | "unet/config.json"
  | "vae/config.json"
  | "image_encoder/config.json"
  | "feature_extractor/preprocessor_config.json"
  | "scheduler/scheduler_config.json";

const DIFFUSERS_VERSION = "0.24.0.dev0";

const MODEL_INDEX: Json = {
  _class_name: "StableVideoDiffusionPipeline",
  _diffusers_version: DIFFUSERS_VERSION,
  feature_extractor: ["transformers", "CLIPImageProcessor"],
  image_encoder: ["transformers", "CLIPVisionModelWithProjection"],
  scheduler: ["diffusers", "EulerDiscreteScheduler"],
  unet: ["diffusers", "UNetSpatioTemporalConditionModel"],
  vae: ["diffusers", "AutoencoderKLTemporalDecoder"],
};

const UNET: Json = {
  _class_name: "UNetSpatioTemporalConditionModel",
  _diffusers_version: DIFFUSERS_VERSION,
  addition_time_embed_dim: 256,
  block_out_channels: [320, 640, 1280, 1280],
  cross_attention_dim: 1024,
  down_block_types: [
    "CrossAttnDownBlockSpatioTemporal",
    "CrossAttnDownBlockSpatioTemporal",
    "CrossAttnDownBlockSpatioTemporal",
    "DownBlockSpatioTemporal",
  ],
  in_channels: 8,
  layers_per_block: 2,
  num_attention_heads: [5, 10, 20, 20],
  num_frames: 25,
  out_channels: 4,
  projection_class_embeddings_input_dim: 768,
  sample_size: 96,
  transformer_layers_per_block: 1,
  up_block_types: [
    "UpBlockSpatioTemporal",
    "CrossAttnUpBlockSpatioTemporal",
    "CrossAttnUpBlockSpatioTemporal",
    "CrossAttnUpBlockSpatioTemporal",
  ],
};

const VAE: Json = {
  _class_name: "AutoencoderKLTemporalDecoder",
  _diffusers_version: DIFFUSERS_VERSION,
  block_out_channels: [128, 256, 512, 512],
  down_block_types: ["DownEncoderBlock2D", "DownEncoderBlock2D", "DownEncoderBlock2D", "DownEncoderBlock2D"],
  force_upcast: true,
  in_channels: 3,
  latent_channels: 4,
  layers_per_block: 2,
  out_channels: 3,
  sample_size: 768,
  scaling_factor: 0.18215,
};

const IMAGE_ENCODER: Json = {
  architectures: ["CLIPVisionModelWithProjection"],
  attention_dropout: 0.0,
  dropout: 0.0,
  hidden_act: "gelu",
  hidden_size: 1280,
  image_size: 224,
  initializer_factor: 1.0,
  initializer_range: 0.02,
  intermediate_size: 5120,
  layer_norm_eps: 1e-5,
  model_type: "clip_vision_model",
  num_attention_heads: 16,
  num_channels: 3,
  num_hidden_layers: 32,
  patch_size: 14,
  projection_dim: 1024,
  torch_dtype: "float16",
  transformers_version: "4.34.0.dev0",
};

const FEATURE_EXTRACTOR: Json = {
  crop_size: { height: 224, width: 224 },
  do_center_crop: true,
  do_convert_rgb: true,
  do_normalize: true,
  do_rescale: true,
  do_resize: true,
  feature_extractor_type: "CLIPFeatureExtractor",
  image_mean: [0.48145466, 0.4578275, 0.40821073],
  image_processor_type: "CLIPImageProcessor",
  image_std: [0.26862954, 0.26130258, 0.27577711],
  resample: 3,
  rescale_factor: 1 / 255,
  size: { shortest_edge: 224 },
};

const SCHEDULER: Json = {
  _class_name: "EulerDiscreteScheduler",
  _diffusers_version: DIFFUSERS_VERSION,
  beta_end: 0.012,
  beta_schedule: "scaled_linear",
  beta_start: 0.00085,
  clip_sample: false,
  interpolation_type: "linear",
  num_train_timesteps: 1000,
  prediction_type: "v_prediction",
  set_alpha_to_one: false,
  sigma_max: 700.0,
  sigma_min: 0.002,
  skip_prk_steps: true,
  steps_offset: 1,
  timestep_spacing: "leading",
  timestep_type: "continuous",
  trained_betas: null,
  use_karras_sigmas: true,
};

/** What the small model of this repository has instead. */
const TINY_UNET: Json = {
  block_out_channels: [64, 64, 128],
  cross_attention_dim: 128,
  down_block_types: ["CrossAttnDownBlockSpatioTemporal", "CrossAttnDownBlockSpatioTemporal", "DownBlockSpatioTemporal"],
  layers_per_block: 1,
  num_attention_heads: [1, 1, 2],
  num_frames: 14,
  sample_size: 16,
  up_block_types: ["UpBlockSpatioTemporal", "CrossAttnUpBlockSpatioTemporal", "CrossAttnUpBlockSpatioTemporal"],
};
const TINY_VAE: Json = { block_out_channels: [64, 64, 64, 64], sample_size: 128, scaling_factor: 0.3237 };
const TINY_ENCODER: Json = {
  hidden_size: 128,
  intermediate_size: 512,
  num_attention_heads: 2,
  num_hidden_layers: 4,
  patch_size: 32,
  projection_dim: 128,
};

/** The configuration files of a preset.
 *  Source: huggingface.co/stabilityai/stable-video-diffusion-img2vid-xt (25 frames) and -img2vid (14 frames). */
export function modelConfigs(preset: Preset): ModelConfigs {
  const isTiny = preset === "tiny";
  return {
    "model_index.json": MODEL_INDEX,
    "unet/config.json": { ...UNET, num_frames: preset === "svd" ? 14 : 25, ...(isTiny ? TINY_UNET : {}) },
    "vae/config.json": { ...VAE, ...(isTiny ? TINY_VAE : {}) },
    "image_encoder/config.json": { ...IMAGE_ENCODER, ...(isTiny ? TINY_ENCODER : {}) },
    "feature_extractor/preprocessor_config.json": FEATURE_EXTRACTOR,
    "scheduler/scheduler_config.json": SCHEDULER,
  };
}
