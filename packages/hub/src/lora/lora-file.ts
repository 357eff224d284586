import { createHash } from "node:crypto";
import { existsSync, statSync } from "node:fs";
import { basename, dirname, join } from "node:path";
import { optional, PATH, requireArgument, SIGNAL, VdError } from "@vd/kernels-native";
import { fileError, type Pausable, runInSlices, SafetensorsFile } from "@vd/tensor";
import { firstOf } from "../checkpoint/convert-names";
import { readJson } from "../files/read-json";
import { type AdapterSettings, adapterScale, doraError, NO_SETTINGS, parseAdapterSettings } from "./adapter-settings";

/** A small matrix of a LoRA with its shape, as it is stored. */
export interface LoraMatrix {
  shape: readonly number[];
  values: Float32Array;
}

/** What a LoRA adds to one module: `scale` · up · down, as a change of its weight. */
export interface LoraModule {
  /** The module's name as the file has it, without what tools put in front or behind. */
  name: string;
  /** Of the key of `down` in the file, for messages. */
  key: string;
  rank: number;
  /** alpha / rank. */
  scale: number;
  /** [rank, inputs, …filter]. */
  down: LoraMatrix;
  /** [outputs, rank, 1…]. */
  up: LoraMatrix;
  /** [rank, rank, …filter] between both, in files that split filters further. */
  mid: LoraMatrix | undefined;
  /** Added to the module's bias, times `scale`: [outputs]. */
  bias: LoraMatrix | undefined;
}

/** A LoRA as its file has it. */
export interface LoraFile {
  path: string;
  modules: LoraModule[];
  /** Of the whole contents. */
  sha256: string;
}

type Part = "down" | "up" | "mid" | "alpha" | "bias";

/** How tools call the parts, behind the module's name. Sources: huggingface/peft tuners/lora/layer.py; huggingface/diffusers
 *  loaders/lora_conversion_utils.py; kohya-ss/sd-scripts networks/lora.py; KohakuBlueleaf/LyCORIS modules/locon.py. */
const PARTS: readonly (readonly [RegExp, Part])[] = [
  [/\.lora_A(?:\.[^.]+)?\.weight$/, "down"],
  [/\.lora_B(?:\.[^.]+)?\.weight$/, "up"],
  [/\.lora_B(?:\.[^.]+)?\.bias$/, "bias"],
  [/[._]lora[._]down\.weight$/, "down"],
  [/[._]lora[._]up\.weight$/, "up"],
  [/\.lora_mid\.weight$/, "mid"],
  [/(?:[._]lora)?\.alpha$/, "alpha"],
];

const CANCELS = optional(SIGNAL);

/** What tools put in front of the module's name. */
const PREFIX = /^(?:base_model\.model\.)?(?:unet\.|model\.diffusion_model\.|diffusion_model\.|lora_unet_|lora_unet\.)?/;

/** Other methods' parts, and what they are called. */
const OTHERS: readonly (readonly [RegExp, string])[] = [
  [/(?:^|[._])(?:hada_|lokr_)/, "LoHa or LoKr"],
  [/(?:^|\.)oft_|\.oft_blocks/, "OFT"],
  [/\.(?:diff|diff_b)$/, "whole differences of weights"],
  [/_IA3|\.ia3_l|\.on_input$/, "(IA)³"],
];

const DORA = /\.(?:dora_scale|lora_magnitude_vector(?:\..*)?)$/;

interface Found {
  key: string;
  parts: Partial<Record<Part, LoraMatrix>>;
}

/** Splits a key into the module's name and the part; undefined for a key of neither tool. */
function splitKey(key: string): { name: string; part: Part } | undefined {
  for (const [pattern, part] of PARTS) {
    const stem = key.replace(pattern, "");
    if (stem !== key) return { name: moduleName(stem), part };
  }
  return undefined;
}

/** Earlier versions of diffusers kept LoRAs in an attention's processor: `attn1.processor.to_out_lora` is of `attn1.to_out.0`. */
const moduleName = (stem: string): string =>
  stem
    .replace(PREFIX, "")
    .replace(/\.processor\.(to_[qkv])$/, ".$1")
    .replace(/\.processor\.to_out$/, ".to_out.0");

function refuseKeys(path: string, keys: readonly string[]): void {
  if (keys.some((key) => DORA.test(key))) throw doraError(path);
  for (const [pattern, method] of OTHERS) {
    const found = keys.filter((key) => pattern.test(key));
    if (found.length === 0) continue;
    const hint = "Merge it into the model with the tool that trained it.";
    throw new VdError({
      code: "unsupported",
      where: path,
      expected: "a LoRA",
      got: `${method}: ${firstOf(found)}`,
      hint,
    });
  }
  const unknown = keys.filter((key) => !splitKey(key));
  if (unknown.length === 0 && keys.length > 0) return;
  const got = keys.length === 0 ? "an empty file" : `${unknown.length} unknown keys: ${firstOf(unknown)}`;
  const hint = "Keys end in .lora_A.weight and .lora_B.weight, or in .lora_down.weight, .lora_up.weight and .alpha.";
  throw new VdError({ code: "weights", where: path, expected: "the keys of a LoRA", got, hint });
}

function isFolder(path: string): boolean {
  try {
    return statSync(path, { throwIfNoEntry: false })?.isDirectory() ?? false;
  } catch (cause) {
    throw fileError(path, "a LoRA in a file or folder", cause);
  }
}

/** A folder that PEFT or diffusers wrote stands for the file in it. */
function fileOf(path: string): string {
  if (!isFolder(path)) return path;
  const names = ["adapter_model.safetensors", "pytorch_lora_weights.safetensors"];
  const name = names.find((each) => existsSync(join(path, each)));
  if (name) return join(path, name);
  throw new VdError({ code: "io", where: path, expected: `a folder with ${names.join(" or ")}`, got: "none of them" });
}

/** What the file's metadata, or PEFT's configuration beside it, says of all modules. */
async function settingsOf(path: string, metadata: Readonly<Record<string, string>>): Promise<AdapterSettings> {
  const ofDiffusers = metadata.lora_adapter_metadata;
  if (ofDiffusers !== undefined) return parseAdapterSettings(path, parsedMetadata(path, ofDiffusers), "unet.");
  const beside = join(dirname(path), "adapter_config.json");
  const isPeft = basename(path).startsWith("adapter_model") && existsSync(beside);
  return isPeft ? parseAdapterSettings(beside, await readJson(beside)) : NO_SETTINGS;
}

function parsedMetadata(path: string, text: string): Record<string, unknown> {
  try {
    return Object(JSON.parse(text)) as Record<string, unknown>;
  } catch (cause) {
    const expected = "lora_adapter_metadata as JSON";
    throw new VdError({ code: "weights", where: path, expected, got: (cause as Error).message, cause });
  }
}

function moduleOf(path: string, name: string, { key, parts }: Found, settings: AdapterSettings): LoraModule {
  const { down, up, mid, alpha, bias } = parts;
  if (!down || !up) {
    const got = `only ${key}`;
    throw new VdError({ code: "weights", where: `${path}] [${name}`, expected: "both halves of a LoRA", got });
  }
  const rank = down.shape[0] ?? 0;
  const fits = rank > 0 && up.shape[1] === rank && (!mid || (mid.shape[0] === rank && mid.shape[1] === rank));
  if (!fits) {
    const got = `[${down.shape}] and [${up.shape}]`;
    throw new VdError({ code: "weights", where: `${path}] [${key}`, expected: "halves of one rank", got });
  }
  const scale = adapterScale(name, rank, alpha?.values[0], settings);
  return { name, key, rank, scale, down, up, mid, bias };
}

/** The parts of all modules, and the contents' checksum. Pauses between tensors. */
function* readParts(file: SafetensorsFile): Pausable<{ found: Map<string, Found>; sha256: string }> {
  const hash = createHash("sha256");
  const found = new Map<string, Found>();
  for (const [key, { shape, dtype }] of file.entries) {
    const { name, part } = splitKey(key)!;
    const where = `${file.path}] [${key}`;
    const values = file.readFloat32(key);
    if (!values.every(Number.isFinite))
      throw new VdError({ code: "weights", where, expected: "finite numbers", got: "others" });
    hash.update(JSON.stringify([key, dtype, shape])).update(file.readBytes(key));
    const module = found.get(name) ?? { key, parts: {} };
    if (module.parts[part]) {
      const got = "one more under another name";
      throw new VdError({ code: "weights", where, expected: `one LoRA of ${name}`, got });
    }
    module.parts[part] = { shape, values };
    found.set(name, module);
    yield;
  }
  return { found, sha256: hash.digest("hex") };
}

/**
 * Reads a LoRA in the names of PEFT, diffusers or kohya: a .safetensors file, or a folder with one. The event loop turns meanwhile.
 *
 * @throws VdError `attr` for what is no path, `io` for a file that cannot be read, `weights` for keys that are not of a LoRA (naming them), halves that do not
 *   belong together and numbers that are not finite, `unsupported` for DoRA, LoHa, LoKr and others, `cancelled`
 * @example
 * ```ts
 * import { readLoraFile } from "@vd/hub";
 *
 * const { modules } = await readLoraFile("style.safetensors");
 * for (const { name, rank, scale } of modules) console.log(name, rank, scale);
 * ```
 */
export async function readLoraFile(given: string, signal?: AbortSignal): Promise<LoraFile> {
  requireArgument("readLoraFile", given, PATH);
  requireArgument("readLoraFile signal", signal, CANCELS);
  const path = fileOf(given);
  const slices = { signal, where: path };
  using file = await runInSlices(SafetensorsFile.open.inPieces(path), slices);
  refuseKeys(path, [...file.entries.keys()]);
  const settings = await settingsOf(path, file.metadata);
  const { found, sha256 } = await runInSlices(readParts(file), slices);
  const modules = [...found].map(([name, each]) => moduleOf(path, name, each, settings));
  // What stands beside the file decides the change too.
  const whole = createHash("sha256").update(sha256).update(JSON.stringify(settings)).digest("hex");
  return { path, modules, sha256: whole };
}
