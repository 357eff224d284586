import { recordFiles } from "@vd/hub";
import { allocateBuffer, type DType, isVdError, VdError } from "@vd/kernels-native";
import type { SchedulerConfig } from "@vd/sampling";
import { makeStorage, mapWeightFile, SafetensorsFile, type WeightEntry, Weights } from "@vd/tensor";
import { parseVaeConfig } from "@vd/vae-opt";
import {
  type ComponentName,
  type InferenceOptions,
  inferConfigs,
  originalToDiffusers,
  sourceBytes,
  sourceRange,
  type TensorSource,
} from "../checkpoint/index";
import { parseClipVisionConfig, parseUnetConfig } from "../models/index";
import type { ModelComponents } from "./components";
import { CLIP_MEAN, CLIP_STD } from "./folder";

const DTYPES: Readonly<Record<string, DType>> = { F32: "f32", F16: "f16", BF16: "bf16" };

function dtypeOf(path: string, name: string, stored: string): DType {
  const dtype = DTYPES[stored];
  if (dtype) return dtype;
  throw new VdError({ code: "dtype", where: `${path}] [${name}`, expected: "F32, F16 or BF16", got: stored });
}

/** Entries by the folder layout's names: most are places in the mapped file, a few are copies. */
function entriesOf(file: SafetensorsFile, sources: ReadonlyMap<string, TensorSource>): Map<string, WeightEntry> {
  const mapped = mapWeightFile(file.path);
  const entries = new Map<string, WeightEntry>();
  for (const [name, source] of sources) {
    const dtype = dtypeOf(file.path, name, source.dtype);
    const range = sourceRange(source);
    if (range && "name" in source) {
      const byteOffset = file.entry(source.name).byteOffset + range.byteOffset;
      entries.set(name, { dtype, shape: source.shape, storage: mapped, byteOffset });
      continue;
    }
    const bytes = sourceBytes(source, (stored) => file.readBytes(stored));
    const buffer = allocateBuffer(bytes.byteLength);
    buffer.writeSync(bytes);
    const storage = makeStorage("weights", bytes.byteLength, name, { buffer, byteOffset: 0 });
    entries.set(name, { dtype, shape: source.shape, storage, byteOffset: 0 });
  }
  return entries;
}

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
  const weights = (name: ComponentName) =>
    Weights.fromEntries(`${path} (${name})`, entriesOf(file, components.get(name)!));
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
