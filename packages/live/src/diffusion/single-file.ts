import { existsSync } from "node:fs";
import { dirname, join } from "node:path";
import {
  locateEntries,
  type NameFaults,
  type NamePair,
  type RelativeEntries,
  readJson,
  requireAllNames,
  sourcesOfPairs,
  type TensorSource,
  weightsOfSources,
} from "@vd/hub";
import { VdError } from "@vd/kernels-native";
import type { SchedulerConfig } from "@vd/sampling";
import { runInSlices, SafetensorsFile, type Weights } from "@vd/tensor";
import { parsePictureVaeConfig, pictureVae } from "@vd/vae-opt";
import { clipText, parseClipTextConfig } from "../models/clip-text/index";
import { parseUnet2dConditionConfig, unet2dCondition } from "../models/unet-2d-condition/index";
import { fullCodec } from "./codec";
import { checkFit } from "./fit";
import { inferPictureVaeConfig, inferTextConfig, inferUnetConfig } from "./infer-configs";
import { pictureInfo } from "./model-info";
import type { DiffusionSources } from "./open-model";
import { openTinyCodec } from "./open-tiny-codec";
import { openTokenizer } from "./open-tokenizer";
import { clipPairs, ORIGINAL_PARTS, openClipPairs, unetPairs, vaePairs, withoutLastLayer } from "./original-names";
import type { DiffusionModel } from "./types";

/** Noise of Stable Diffusion's training, and steps of turbo models, where no scheduler_config.json beside the file says otherwise. */
const SCHEDULER: SchedulerConfig = {
  _class_name: "EulerDiscreteScheduler",
  beta_start: 0.00085,
  beta_end: 0.012,
  beta_schedule: "scaled_linear",
};
/** What fills texts of version 2 up; version 1 has the end's token there. */
const OPEN_CLIP_PAD = "!";
const HINT = "The file must be a Stable Diffusion checkpoint of version 1 or 2 in the original names.";

/** A configuration beside the file, or what its weights tell. */
async function configOf(path: string, name: string, inferred: () => Record<string, unknown>) {
  const beside = join(dirname(path), name);
  return existsSync(beside) ? { json: await readJson(beside), where: beside } : { json: inferred(), where: path };
}

/** The sources of one network's tensors. */
function sourcesOf(
  path: string,
  part: RelativeEntries,
  pairsOf: (names: ReadonlySet<string>) => NamePair[],
  faults: NameFaults,
): Map<string, TensorSource> {
  if (part.size === 0)
    throw new VdError({
      code: "weights",
      where: path,
      expected: "all networks of Stable Diffusion",
      got: "a file without one",
      hint: HINT,
    });
  const { sources, missing, unknown } = sourcesOfPairs(pairsOf(new Set(part.keys())), part);
  faults.missing.push(...missing);
  faults.unknown.push(...unknown);
  return sources;
}

/** Networks of a file by what they are. */
interface FoundNetworks {
  unet: Map<string, TensorSource>;
  vae: Map<string, TensorSource>;
  text: Map<string, TensorSource>;
  isOpenClip: boolean;
}

function findNetworks(path: string, file: SafetensorsFile): FoundNetworks {
  const { parts } = locateEntries(file.entries.values(), ORIGINAL_PARTS);
  const faults: NameFaults = { missing: [], unknown: [] };
  const isOpenClip = parts.get("open_clip")!.size > 0;
  const text = isOpenClip ? withoutLastLayer(parts.get("open_clip")!) : parts.get("clip")!;
  const found = {
    isOpenClip,
    unet: sourcesOf(path, parts.get("unet")!, unetPairs, faults),
    vae: sourcesOf(path, parts.get("vae")!, vaePairs, faults),
    text: sourcesOf(path, text, isOpenClip ? openClipPairs : clipPairs, faults),
  };
  requireAllNames(faults, "a Stable Diffusion checkpoint in the original names", HINT);
  return found;
}

/**
 * Opens a checkpoint in one file with the original names: Stable Diffusion 1 or 2. What its weights do not tell is read from
 * `unet/config.json`, `vae/config.json`, `text_encoder/config.json`, `scheduler/scheduler_config.json` and `tokenizer/` beside the file.
 *
 * @throws VdError `io`, `weights` or `unsupported`
 */
export async function openSingleFile(path: string, sources: DiffusionSources): Promise<DiffusionModel> {
  using file = await runInSlices(SafetensorsFile.open.inPieces(path));
  const found = findNetworks(path, file);
  const weightsOf = (part: "unet" | "vae" | "text"): Weights => weightsOfSources(file, found[part], part);
  const unetConfig = await configOf(path, "unet/config.json", () => inferUnetConfig(found.unet));
  const unet = await runInSlices(
    unet2dCondition.inPieces(weightsOf("unet"), parseUnet2dConditionConfig(unetConfig.json, unetConfig.where)),
  );
  const textConfig = await configOf(path, "text_encoder/config.json", () =>
    inferTextConfig(found.text, found.isOpenClip),
  );
  const text = clipText(weightsOf("text"), parseClipTextConfig(textConfig.json, textConfig.where));
  const vaeConfig = await configOf(path, "vae/config.json", () => inferPictureVaeConfig(found.vae));
  const ownCodec = async () =>
    fullCodec(
      await runInSlices(pictureVae.inPieces(weightsOf("vae"), parsePictureVaeConfig(vaeConfig.json, vaeConfig.where))),
    );
  const codec = sources.autoencoder === undefined ? await ownCodec() : await openTinyCodec(sources.autoencoder);
  const folder = sources.tokenizer ?? join(dirname(path), "tokenizer");
  const tokenizer = await openTokenizer(folder, text.config.maxTokens, found.isOpenClip ? OPEN_CLIP_PAD : undefined);
  const scheduler = await configOf(path, "scheduler/scheduler_config.json", () => ({ ...SCHEDULER }));
  const model = { unet, codec, text, tokenizer, scheduler: scheduler.json as SchedulerConfig };
  checkFit(model, path);
  return { ...model, info: pictureInfo(path, unet.config.sampleSize, codec.factor) };
}
