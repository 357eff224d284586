import { recordFiles, weightsOfSources } from "@vd/hub";
import { isVdError, VdError } from "@vd/kernels-native";
import type { SchedulerConfig } from "@vd/sampling";
import { runInSlices, SafetensorsFile } from "@vd/tensor";
import { parseVaeConfig } from "@vd/vae-opt";
import { type ComponentName, type InferenceOptions, inferConfigs, originalToDiffusers } from "../checkpoint/index";
import { parseClipVisionConfig, parseUnetConfig } from "../models/index";
import type { ModelComponents } from "./components";
import { CLIP_MEAN, CLIP_STD } from "./folder";
import { CLIP_UNTOLD, UNET_UNTOLD, type UntoldRules, VAE_UNTOLD, withUntold } from "./untold";
import { type WarningListener, warnProcess } from "./warnings";

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

/** How to open a checkpoint in one file. */
export interface SingleFileOptions extends InferenceOptions {
  /** Hears of values that neither weights nor options nor a configuration beside the file tell. Default: a warning of the
   *  process. */
  onWarning?: WarningListener | undefined;
}

/**
 * Opens a checkpoint in one file with the original names. What its weights do not tell is in the options, or in
 * `image_encoder/config.json`, `unet/config.json` and `vae/config.json` in the file's folder. The event loop turns
 * meanwhile.
 *
 * @throws VdError `weights`, `dtype` or `io`
 * @example
 * ```ts
 * import { openSingleFile } from "@vd/svd-pipeline";
 *
 * const { unet, scheduler } = await openSingleFile("svd_xt.safetensors");
 * console.log(unet.config.numFrames, scheduler);
 * ```
 */
export async function openSingleFile(path: string, options: SingleFileOptions = {}): Promise<ModelComponents> {
  const { onWarning = warnProcess, ...inference } = options;
  using file = await runInSlices(SafetensorsFile.open.inPieces(path));
  const components = inFile(path, () => originalToDiffusers(file.entries.values()));
  const configs = inFile(path, () => inferConfigs(components, inference));
  const weights = (name: ComponentName) => weightsOfSources(file, components.get(name)!, name);
  const parsed = <Config>(given: Omit<UntoldRules<Config>, "parse">, parse: UntoldRules<Config>["parse"]) =>
    withUntold(path, parse(configs[given.component], path), { ...given, parse }, inference, onWarning);
  const imageEncoder = await parsed(CLIP_UNTOLD, parseClipVisionConfig);
  return {
    source: path,
    unet: { config: await parsed(UNET_UNTOLD, parseUnetConfig), weights: weights("unet") },
    vae: { config: await parsed(VAE_UNTOLD, parseVaeConfig), weights: weights("vae") },
    imageEncoder: { config: imageEncoder, weights: weights("image_encoder") },
    scheduler: configs.scheduler as SchedulerConfig,
    clipPixels: { size: imageEncoder.imageSize, mean: CLIP_MEAN, std: CLIP_STD },
    files: recordFiles([path]),
  };
}
