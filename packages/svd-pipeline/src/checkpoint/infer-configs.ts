import type { Shapes } from "@vd/hub";
import { having, requireArgument } from "@vd/kernels-native";
import { inferVaeConfig } from "@vd/vae-opt";
import type { ComponentName } from "./component-names";
import { inferClipConfig } from "./infer-clip";
import { inferUnetConfig } from "./infer-unet";

/** What weights do not tell; the defaults are those of the published models. */
export interface InferenceOptions {
  /** Channels per attention head of the UNet. Default 64. */
  headChannels?: number;
  /** Frames that the UNet was trained for. Default 25, those of SVD-XT; SVD has 14. */
  numFrames?: number;
  /** Scale between the autoencoder's latents and the UNet's. Default 0.18215. */
  scalingFactor?: number;
  /** Attention heads of the image encoder. Default: those of the published model of this width, else width / 64. */
  clipHeads?: number;
  /** Activation of the image encoder, as `hidden_act` of its configuration names it, e.g. `quick_gelu`. Default: `gelu`,
   *  that of the published models. */
  clipActivation?: string;
}

/** A configuration as the JSON files of the folder layout have it. */
export type ConfigJson = Record<string, unknown>;

/** The configurations of a model, by folder. */
export interface InferredConfigs {
  unet: ConfigJson;
  vae: ConfigJson;
  image_encoder: ConfigJson;
  scheduler: ConfigJson;
  feature_extractor: ConfigJson;
}

/** Euler steps over Karras sigmas with v-prediction. Source: stabilityai/stable-video-diffusion-img2vid-xt scheduler. */
const SCHEDULER: Readonly<ConfigJson> = {
  _class_name: "EulerDiscreteScheduler",
  beta_end: 0.012,
  beta_schedule: "scaled_linear",
  beta_start: 0.00085,
  interpolation_type: "linear",
  num_train_timesteps: 1000,
  prediction_type: "v_prediction",
  sigma_max: 700.0,
  sigma_min: 0.002,
  steps_offset: 1,
  timestep_spacing: "leading",
  timestep_type: "continuous",
  trained_betas: null,
  use_karras_sigmas: true,
};

/** Means and deviations of CLIP's training pictures. Source: openai/CLIP clip/clip.py `_transform`. */
const IMAGE_MEAN = [0.48145466, 0.4578275, 0.40821073];
const IMAGE_STD = [0.26862954, 0.26130258, 0.27577711];

/**
 * The configurations that belong to weights, read off names and shapes; a single-file checkpoint has none of its own.
 * `components`: shapes by the names of the folder layout, e.g. the result of `originalToDiffusers`. Source:
 * huggingface/diffusers@58eb52c scripts/convert_svd_to_diffusers.py `create_unet_diffusers_config`.
 *
 * @throws VdError `weights` where the shapes fit no configuration
 */
export function inferConfigs(
  components: ReadonlyMap<ComponentName, Shapes>,
  options: InferenceOptions = {},
): InferredConfigs {
  requireArgument("inferConfigs components", components, having("a Map of components", ["get", "keys"]));
  const shapes = (component: ComponentName) => components.get(component) ?? new Map();
  const imageEncoder = inferClipConfig(shapes("image_encoder"), options);
  return {
    unet: inferUnetConfig(shapes("unet"), options),
    vae: inferVaeConfig(shapes("vae"), options),
    image_encoder: imageEncoder,
    scheduler: { ...SCHEDULER },
    feature_extractor: featureExtractor(imageEncoder.image_size as number),
  };
}

function featureExtractor(size: number): ConfigJson {
  return {
    crop_size: { height: size, width: size },
    do_center_crop: true,
    do_convert_rgb: true,
    do_normalize: true,
    do_rescale: true,
    do_resize: true,
    image_mean: [...IMAGE_MEAN],
    image_processor_type: "CLIPImageProcessor",
    image_std: [...IMAGE_STD],
    resample: 3,
    rescale_factor: 1 / 255,
    size: { shortest_edge: size },
  };
}
