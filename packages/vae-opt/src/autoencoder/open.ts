import { existsSync } from "node:fs";
import { stat } from "node:fs/promises";
import { basename, dirname, join } from "node:path";
import {
  firstOf,
  type HubOptions,
  locateEntries,
  type OpenFile,
  openComponentWeights,
  readJson,
  recordFiles,
  requireAllNames,
  resolveModel,
  sourcesOfPairs,
  type TensorEntry,
  type TensorSource,
  type WeightFormat,
  weightsOfSources,
} from "@vd/hub";
import { throwIfAborted, VdError } from "@vd/kernels-native";
import { runInSlices, SafetensorsFile, type Weights } from "@vd/tensor";
import { inferVaeConfig, type VaeInference } from "../checkpoint/infer-vae";
import {
  addFoldedVaeLayer,
  chooseVaeEncoder,
  currentVaeName,
  VAE_PREFIXES,
  VAE_UNUSED,
  vaePairsOfOriginal,
} from "../checkpoint/vae-parts";
import { parseVaeConfig, type VaeConfig } from "../temporal-decoder/config";

/** An autoencoder's parts: configuration parsed, weights mapped, nothing computed. */
export interface VaeComponents {
  /** The folder or file, for messages. */
  source: string;
  config: VaeConfig;
  weights: Weights;
  /** The mapped files as they were when they were opened. */
  files: readonly OpenFile[];
}

/** Where weights come from. */
export interface VaeSourceOptions extends VaeInference {
  /** Which of several stored precisions to prefer. Default `fp32`. */
  format?: WeightFormat | undefined;
  /** For models of the Hugging Face Hub. */
  hub?: HubOptions | undefined;
  signal?: AbortSignal | undefined;
}

const FOLDER_HINT = "Give a model's folder with vae/config.json in it, or the folder of the autoencoder itself.";

/** The autoencoder's own folder. */
function vaeFolder(dir: string): string {
  const inside = join(dir, "vae");
  return existsSync(join(inside, "config.json")) ? inside : dir;
}

/** @throws VdError `attr` for a scaling factor that is none */
function checkScalingFactor({ scalingFactor }: VaeInference): void {
  if (scalingFactor === undefined || (scalingFactor > 0 && Number.isFinite(scalingFactor))) return;
  throw new VdError({
    code: "attr",
    where: "scalingFactor",
    expected: "a positive number",
    got: String(scalingFactor),
  });
}

async function openFolder(dir: string, { format = "fp32", scalingFactor }: VaeSourceOptions): Promise<VaeComponents> {
  const folder = vaeFolder(dir);
  const path = join(folder, "config.json");
  const read = parseVaeConfig(await readJson(path, FOLDER_HINT), path);
  const config = { ...read, scalingFactor: scalingFactor ?? read.scalingFactor };
  const { weights, paths } = await runInSlices(openComponentWeights(dirname(folder), basename(folder), format));
  return { source: folder, config, weights, files: recordFiles(paths) };
}

/**
 * Opens the autoencoder of a model's folder, its own folder, a file, or a model of the Hub (`org/name`).
 *
 * @throws VdError `io`, `weights`, `attr` or `cancelled`
 */
export async function openVae(source: string, options: VaeSourceOptions = {}): Promise<VaeComponents> {
  if (typeof source !== "string" || source === "") {
    const got = source === "" ? "an empty text" : String(source);
    const expected = "the path of a folder or file, or a Hub model as org/name";
    throw new VdError({ code: "attr", where: "model", expected, got });
  }
  checkScalingFactor(options);
  const { format = "fp32", signal } = options;
  throwIfAborted(signal, source, { work: "the opening" });
  const { dir } = await resolveModel(source, { dtype: format, signal, ...options.hub });
  return (await stat(dir)).isFile() ? openVaeFile(dir, options) : openFolder(dir, options);
}

/** The sources of an autoencoder's weights in a file that names them as single-file checkpoints do, or as folders do. */
function sourcesIn(path: string, entries: readonly TensorEntry[]): Map<string, TensorSource> {
  const { parts } = locateEntries(entries, {
    prefixes: VAE_PREFIXES,
    unused: VAE_UNUSED,
    currentName: currentVaeName,
  });
  const relative = chooseVaeEncoder(parts.get("encoder")!, parts.get("stage")!);
  if (relative.size === 0) return folderNames(path, entries);
  const { sources, missing, unknown } = sourcesOfPairs(vaePairsOfOriginal(new Set(relative.keys())), relative);
  const found = new Map<string, TensorSource>(sources);
  addFoldedVaeLayer(found, relative);
  const imageDecoder = missing.some((name) => name.includes("decoder.conv_out.time_mix_conv"));
  const hint = imageDecoder
    ? "Files named *_image_decoder hold a decoder without time: use the file without that ending."
    : "The file is damaged, or of another kind of model.";
  requireAllNames({ missing, unknown }, "Stable Video Diffusion's autoencoder in the original names", hint);
  return found;
}

/** The file of an autoencoder's folder: names are those of the model. */
function folderNames(path: string, entries: readonly TensorEntry[]): Map<string, TensorSource> {
  if (!entries.some(({ name }) => name.startsWith("decoder.up_blocks."))) {
    throw new VdError({
      code: "weights",
      where: path,
      expected: "tensors named like first_stage_model.decoder.conv_in.weight or decoder.up_blocks.0.…",
      got: entries.length === 0 ? "none" : `none; the first are ${firstOf(entries.map(({ name }) => name))}`,
      hint: "Give a checkpoint of Stable Video Diffusion, or the weights file of its vae folder.",
    });
  }
  return new Map(entries.map(({ name, dtype, shape }) => [name, { name, dtype, shape: [...shape] }]));
}

/** The configuration beside the file, where there is one. */
async function configBeside(path: string): Promise<VaeConfig | undefined> {
  for (const beside of [join(dirname(path), "config.json"), join(dirname(path), "vae", "config.json")])
    if (existsSync(beside)) {
      const json = await readJson(beside);
      if (json.latent_channels !== undefined) return parseVaeConfig(json, beside);
    }
  return undefined;
}

/**
 * Opens the autoencoder in a .safetensors file: that of a whole checkpoint with the original names
 * (`first_stage_model.…`), or one with the names of the folder layout. The configuration follows from the shapes, but for
 * the scaling factor: it comes from the options, from a `config.json` beside the file, or is that of the published models.
 *
 * @throws VdError `io`, `weights`, `dtype` or `attr`
 */
export async function openVaeFile(path: string, options: VaeSourceOptions = {}): Promise<VaeComponents> {
  checkScalingFactor(options);
  using file = await runInSlices(SafetensorsFile.open.inPieces(path));
  const sources = sourcesIn(path, [...file.entries.values()]);
  const beside = await configBeside(path);
  const scalingFactor = options.scalingFactor ?? beside?.scalingFactor;
  const inferred = parseVaeConfig(inferVaeConfig(sources, { scalingFactor }), path);
  const config = { ...inferred, forceUpcast: beside?.forceUpcast ?? inferred.forceUpcast };
  return { source: path, config, weights: weightsOfSources(file, sources, "vae"), files: recordFiles([path]) };
}
