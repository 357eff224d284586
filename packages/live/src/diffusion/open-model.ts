import { join, resolve } from "node:path";
import { openComponentWeights, readJson } from "@vd/hub";
import { requireText, shownJson, VdError } from "@vd/kernels-native";
import type { SchedulerConfig } from "@vd/sampling";
import { fileError, runInSlices, statIfThere, type Weights } from "@vd/tensor";
import { parsePictureVaeConfig, pictureVae } from "@vd/vae-opt";
import { clipText, parseClipTextConfig } from "../models/clip-text/index";
import { parseUnet2dConditionConfig, unet2dCondition } from "../models/unet-2d-condition/index";
import { fullCodec } from "./codec";
import { checkFit } from "./fit";
import { pictureInfo } from "./model-info";
import { openTinyCodec } from "./open-tiny-codec";
import { openTokenizer } from "./open-tokenizer";
import { openSingleFile } from "./single-file";
import type { DiffusionModel, PictureCodec } from "./types";

/** Parts of a model that a caller names apart. */
export interface DiffusionSources {
  /** A tiny autoencoder in place of the model's own. */
  autoencoder?: string | undefined;
  /** A folder with vocab.json and merges.txt. */
  tokenizer?: string | undefined;
}

const HINT =
  "A model of pictures is a folder of diffusers' layout: model_index.json, unet, vae, text_encoder, tokenizer, scheduler.";

/** Classes of the parts that are built here. */
const CLASSES: Readonly<Record<string, readonly string[]>> = {
  unet: ["UNet2DConditionModel"],
  text_encoder: ["CLIPTextModel"],
  vae: ["AutoencoderKL", "AutoencoderTiny"],
};

/** The class of a part, as model_index.json names it. */
function classOf(index: Record<string, unknown>, part: string, where: string): string {
  const entry = index[part];
  const name: unknown = Array.isArray(entry) ? entry[1] : undefined;
  const known = CLASSES[part]!;
  if (typeof name === "string" && known.includes(name)) return name;
  const expected = `a pipeline whose ${part} is ${known.join(" or ")}`;
  throw new VdError({ code: "unsupported", where, expected, got: shownJson(entry) });
}

async function openPart<T>(
  root: string,
  part: string,
  make: (config: Record<string, unknown>, where: string, weights: Weights) => T | Promise<T>,
): Promise<T> {
  const where = join(root, part, "config.json");
  const config = await readJson(where, HINT);
  const { weights } = await runInSlices(openComponentWeights(root, part, "fp16"));
  const made = await make(config, where, weights);
  weights.expectAllUsed();
  return made;
}

const openVae = (root: string): Promise<PictureCodec> =>
  openPart(root, "vae", async (config, where, weights) =>
    fullCodec(await runInSlices(pictureVae.inPieces(weights, parsePictureVaeConfig(config, where)))),
  );

/**
 * Opens a model of the Stable Diffusion class: a folder of diffusers' layout, or a checkpoint in one file with the original names. The
 * event loop turns meanwhile.
 *
 * @throws VdError `io`, `weights`, `unsupported`, or `attr` for what is no path
 */
export async function openDiffusionModel(source: string, sources: DiffusionSources = {}): Promise<DiffusionModel> {
  requireText("openDiffusionModel] [source", source, "the path of a model's folder or file");
  const root = resolve(source);
  const found = await statIfThere(root).catch((error: unknown) => {
    throw fileError(root, "a model's folder or file", error);
  });
  if (found?.isFile()) return openSingleFile(root, sources);
  const indexPath = join(root, "model_index.json");
  const index = await readJson(indexPath, HINT);
  for (const part of ["unet", "text_encoder"]) classOf(index, part, indexPath);
  const isTiny = classOf(index, "vae", indexPath) === "AutoencoderTiny";
  const unet = await openPart(root, "unet", (config, where, weights) =>
    runInSlices(unet2dCondition.inPieces(weights, parseUnet2dConditionConfig(config, where))),
  );
  const text = await openPart(root, "text_encoder", (config, where, weights) =>
    clipText(weights, parseClipTextConfig(config, where)),
  );
  const { autoencoder = isTiny ? join(root, "vae") : undefined } = sources;
  const codec = autoencoder === undefined ? await openVae(root) : await openTinyCodec(autoencoder);
  const tokenizer = await openTokenizer(sources.tokenizer ?? join(root, "tokenizer"), text.config.maxTokens);
  const scheduler = (await readJson(join(root, "scheduler/scheduler_config.json"), HINT)) as SchedulerConfig;
  const model = { unet, codec, text, tokenizer, scheduler };
  checkFit(model, root);
  return { ...model, info: pictureInfo(root, unet.config.sampleSize, codec.factor) };
}
