import { recordFiles, weightsOfSources } from "@vd/hub";
import { isVdError, VdError } from "@vd/kernels-native";
import type { SchedulerConfig } from "@vd/sampling";
import { SafetensorsFile } from "@vd/tensor";
import { parseVaeConfig } from "@vd/vae-opt";
import { type ComponentName, type InferenceOptions, inferConfigs, originalToDiffusers } from "../checkpoint/index";
import { parseClipVisionConfig, parseUnetConfig } from "../models/index";
import type { ModelComponents } from "./components";
import { CLIP_MEAN, CLIP_STD } from "./folder";

/** Calls what knows names only; its errors leave with the file's name. */
function inFile<T>(path: string, body: () => T): T {
  try {
    return body();
  } catch (error) {
    if (!isVdError(error)) throw error;
    const { code, where, expected, got, hint } = error;
    throw new VdError({ code, where: `${path}] [${where}`, expected, got, hint, cause: error });
  }
}

/**
 * Opens a checkpoint in one file with the original names.
 *
 * @throws VdError `weights`, `dtype` or `io`
 * @example
 * ```ts
 * import { openSingleFile } from "@vd/svd-pipeline";
 *
 * const { unet, scheduler } = openSingleFile("svd_xt.safetensors");
 * console.log(unet.config.numFrames, scheduler);
 * ```
 */
export function openSingleFile(path: string, options: InferenceOptions = {}): ModelComponents {
  using file = SafetensorsFile.open(path);
  const components = inFile(path, () => originalToDiffusers(file.entries.values()));
  const configs = inFile(path, () => inferConfigs(components, options));
  const weights = (name: ComponentName) => weightsOfSources(file, components.get(name)!, name);
  const imageEncoder = parseClipVisionConfig(configs.image_encoder, path);
  return {
    source: path,
    unet: { config: parseUnetConfig(configs.unet, path), weights: weights("unet") },
    vae: { config: parseVaeConfig(configs.vae, path), weights: weights("vae") },
    imageEncoder: { config: imageEncoder, weights: weights("image_encoder") },
    scheduler: configs.scheduler as SchedulerConfig,
    clipPixels: { size: imageEncoder.imageSize, mean: CLIP_MEAN, std: CLIP_STD },
    files: recordFiles([path]),
  };
}
