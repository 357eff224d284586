import { existsSync, readdirSync } from "node:fs";
import { stat } from "node:fs/promises";
import { basename, dirname, join, resolve } from "node:path";
import {
  type ComponentWeights,
  openComponentWeights,
  readJson,
  recordFiles,
  type Shapes,
  type WeightFormat,
  weightsOfSources,
} from "@vd/hub";
import { VdError } from "@vd/kernels-native";
import { fileError, runInSlices, SafetensorsFile, Weights } from "@vd/tensor";
import { originalUnetSources } from "../checkpoint/convert";
import type { InferenceOptions } from "../checkpoint/index";
import { inferUnetConfig } from "../checkpoint/infer-unet";
import { parseUnetConfig, type UnetConfig } from "../models/index";
import type { ModelComponents } from "./components";
import { sameWeights, UNET_UNTOLD } from "./untold";

type OpenedUnet = Pick<ModelComponents, "unet" | "files">;

/** The weights of a folder; in one that is named as in a model, those of the wanted format where there are several. */
async function folderWeights(folder: string, format: WeightFormat): Promise<ComponentWeights> {
  if (basename(resolve(folder)) === "unet")
    return runInSlices(openComponentWeights(dirname(resolve(folder)), "unet", format));
  const names = readdirSync(folder).filter((name) => name.endsWith(".safetensors"));
  return { weights: await runInSlices(Weights.open.inPieces(folder)), paths: names.map((name) => join(folder, name)) };
}

/** A UNet in a folder: one that diffusers saved, or the one of a model folder. */
async function openUnetFolder(path: string, format: WeightFormat): Promise<OpenedUnet> {
  const folder = [path, join(path, "unet")].find((each) => existsSync(join(each, "config.json")));
  if (folder === undefined) {
    const expected = "a folder with config.json and weights, or with such a folder named unet";
    throw new VdError({ code: "io", where: "unet", expected, got: path });
  }
  const config = join(folder, "config.json");
  const { weights, paths } = await folderWeights(folder, format);
  return { unet: { config: parseUnetConfig(await readJson(config), config), weights }, files: recordFiles(paths) };
}

/** The configuration of weights: the base model's where they fit it, else what their shapes tell. */
function configOf(path: string, shapes: Shapes, base: UnetConfig, options: InferenceOptions): UnetConfig {
  const told = parseUnetConfig(inferUnetConfig(shapes, { numFrames: base.numFrames, ...options }), path);
  return sameWeights(told, base, { ...UNET_UNTOLD, parse: parseUnetConfig }) ? base : told;
}

/** A UNet in one file, with the names of diffusers, or the original ones alone or within a whole checkpoint. */
async function openUnetFile(path: string, base: UnetConfig, options: InferenceOptions): Promise<OpenedUnet> {
  using file = await runInSlices(SafetensorsFile.open.inPieces(path));
  const files = recordFiles([path]);
  if (file.entries.has("conv_in.weight"))
    return {
      unet: {
        config: configOf(path, file.entries, base, options),
        weights: await runInSlices(Weights.open.inPieces(path)),
      },
      files,
    };
  const sources = originalUnetSources(path, file.entries.values());
  const weights = weightsOfSources(file, sources, "unet");
  return { unet: { config: configOf(path, sources, base, options), weights }, files };
}

/**
 * Puts another UNet into an open model, such as a distilled one: a folder that diffusers saved, or one .safetensors file with the names
 * of diffusers or the original ones. The event loop turns meanwhile.
 *
 * @throws VdError `io` or `weights`
 */
export async function withUnet(
  components: ModelComponents,
  path: string,
  format: WeightFormat,
  options: InferenceOptions = {},
): Promise<ModelComponents> {
  const found = await stat(path).catch((error: unknown) => {
    throw fileError(path, "a UNet: a folder, or a file that ends in .safetensors", error, "unet");
  });
  const { unet, files } = found.isDirectory()
    ? await openUnetFolder(path, format)
    : await openUnetFile(path, components.unet.config, options);
  return { ...components, unet, files: [...components.files, ...files] };
}
