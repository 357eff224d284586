import { existsSync } from "node:fs";
import { join } from "node:path";
import { openComponentWeights, readJson, recordFiles, type WeightFormat } from "@vd/hub";
import { PATH, requireArgument, shownJson, VdError } from "@vd/kernels-native";
import type { SchedulerConfig } from "@vd/sampling";
import { runInSlices } from "@vd/tensor";
import { parseVaeConfig } from "@vd/vae-opt";
import type { ClipPixelOptions } from "../conditioning/clip-pixel-values";
import { parseClipVisionConfig, parseUnetConfig } from "../models/index";
import type { ModelComponents } from "./components";

const PIPELINE_CLASS = "StableVideoDiffusionPipeline";
const FOLDER_HINT =
  "A model folder has model_index.json and the folders unet, vae, image_encoder, scheduler and feature_extractor.";

async function checkIndex(dir: string): Promise<void> {
  const path = join(dir, "model_index.json");
  const index = await readJson(path, FOLDER_HINT);
  if (index._class_name === PIPELINE_CLASS) return;
  throw new VdError({
    code: "unsupported",
    where: path,
    expected: `a ${PIPELINE_CLASS}`,
    got: typeof index._class_name === "string" ? index._class_name : "no _class_name",
    hint: "This package runs Stable Video Diffusion (image to video) models.",
  });
}

/**
 * Three numbers, one per channel, or the fallback where the file has none.
 *
 * @throws VdError `weights`
 */
function perChannel(
  path: string,
  json: Record<string, unknown>,
  key: string,
  fallback: readonly number[],
  isValid: (value: number) => boolean,
): readonly number[] {
  const value = json[key] ?? fallback;
  const fits = Array.isArray(value) && value.length === 3;
  if (fits && value.every((item) => typeof item === "number" && isValid(item))) return value;
  throw new VdError({
    code: "weights",
    where: `${path}] [${key}`,
    expected: `three ${key === "image_std" ? "positive " : ""}numbers, one per channel`,
    got: shownJson(value),
  });
}

/** CLIP's own constants. Source: openai/CLIP clip/clip.py. */
export const CLIP_MEAN = [0.48145466, 0.4578275, 0.40821073] as const;
export const CLIP_STD = [0.26862954, 0.26130258, 0.27577711] as const;

async function readClipPixels(dir: string, size: number): Promise<ClipPixelOptions> {
  const path = join(dir, "feature_extractor/preprocessor_config.json");
  const json = existsSync(path) ? await readJson(path, FOLDER_HINT) : {};
  return {
    size,
    mean: perChannel(path, json, "image_mean", CLIP_MEAN, Number.isFinite),
    std: perChannel(path, json, "image_std", CLIP_STD, (value) => value > 0),
  };
}

/**
 * Opens a model in the standard folder layout. format: which of several stored precisions to prefer. The event loop
 * turns meanwhile.
 *
 * @throws VdError `io`, `weights` or `unsupported`
 * @example
 * ```ts
 * import { makeModels, openModelFolder } from "@vd/svd-pipeline";
 *
 * const components = await openModelFolder("models/tiny-svd", "fp32");
 * const { unet, vae, imageEncoder } = makeModels(components);
 * console.log(unet.config.numFrames, vae.config.latentChannels, typeof imageEncoder);
 * ```
 */
export async function openModelFolder(dir: string, format: WeightFormat = "fp32"): Promise<ModelComponents> {
  requireArgument("openModelFolder", dir, PATH);
  await checkIndex(dir);
  const parse = async <T>(name: string, read: (json: Record<string, unknown>, path: string) => T): Promise<T> =>
    read(await readJson(join(dir, name), FOLDER_HINT), join(dir, name));
  const unet = await parse("unet/config.json", parseUnetConfig);
  const vae = await parse("vae/config.json", (json, path) => ({ json, config: parseVaeConfig(json, path) }));
  const imageEncoder = await parse("image_encoder/config.json", parseClipVisionConfig);
  const scheduler = await parse("scheduler/scheduler_config.json", (json) => json as SchedulerConfig);
  const forUnet = await runInSlices(openComponentWeights(dir, "unet", format));
  const forVae = await runInSlices(openComponentWeights(dir, "vae", format));
  const forEncoder = await runInSlices(openComponentWeights(dir, "image_encoder", format));
  return {
    source: dir,
    unet: { config: unet, weights: forUnet.weights },
    vae: { config: vae.config, weights: forVae.weights },
    imageEncoder: { config: imageEncoder, weights: forEncoder.weights },
    scheduler,
    clipPixels: await readClipPixels(dir, imageEncoder.imageSize),
    files: recordFiles([forUnet, forVae, forEncoder].flatMap(({ paths }) => paths)),
    sampleSize: typeof vae.json.sample_size === "number" ? vae.json.sample_size : undefined,
  };
}
