import { readdirSync, readFileSync, type Stats, statSync } from "node:fs";
import { join } from "node:path";
import { requireOptions, shown, VdError } from "@vd/kernels-native";
import { fileError } from "../files/file-error";
import { type Pausable, pausable } from "../pausable";
import { beginning, isObjectText, JsonMembers, type JsonRules, parseValue } from "./json-members";
import { SafetensorsFile } from "./safetensors-file";
import { type SafetensorsEntry, tensorPlace } from "./safetensors-header";

/** A tensor of a checkpoint and the file that holds it. */
export interface CheckpointTensor {
  readonly file: SafetensorsFile;
  readonly entry: SafetensorsEntry;
}

/** The tensors of one model, in one file or several. */
export interface Checkpoint extends Disposable {
  readonly entries: ReadonlyMap<string, CheckpointTensor>;
  readonly files: readonly SafetensorsFile[];
  /** Closes all files; a second call does nothing. */
  close(): void;
}

/** Which of a folder's checkpoints to open. */
export interface CheckpointOptions {
  /** Opens the half-precision files (`*.fp16.safetensors`) instead of the plain ones. */
  variant?: "fp16" | undefined;
}

const stems = ["diffusion_pytorch_model", "model"];
const wanted = "a .safetensors file or a folder with a checkpoint";
/** The index of a model of 10,000 tensors has 1 MB. */
const maxIndexBytes = 100_000_000;
/** Its metadata may hold a few objects and lists. */
const maxIndexLevels = 16;
/** Tensors between two pauses. */
const PIECE = 1024;

/**
 * Names that a folder's single file or index may have, in the order in which they are tried. Several spellings of a
 * sharded variant are in use. Source: huggingface/diffusers@58eb52c utils/hub_utils.py `_add_variant`, and
 * models/model_loading_utils.py `_fetch_index_file`.
 */
function candidates(variant: "fp16" | undefined): string[] {
  if (variant === undefined) {
    const single = stems.map((stem) => `${stem}.safetensors`);
    return [...single, ...single.map((name) => `${name}.index.json`)];
  }
  const single = stems.map((stem) => `${stem}.${variant}.safetensors`);
  const indexes = stems.flatMap((stem) => [
    `${stem}.safetensors.index.${variant}.json`,
    `${stem}.safetensors.${variant}.index.json`,
    `${stem}.${variant}.safetensors.index.json`,
  ]);
  return [...single, ...indexes];
}

function describe(path: string): Stats {
  try {
    return statSync(path);
  } catch (error) {
    throw fileError(path, wanted, error);
  }
}

function findInFolder(folder: string, variant: "fp16" | undefined): string {
  let names: string[];
  try {
    names = readdirSync(folder);
  } catch (error) {
    throw fileError(folder, wanted, error);
  }
  const found = candidates(variant).find((name) => names.includes(name));
  if (found !== undefined) return join(folder, found);
  const others = names.filter((name) => name.endsWith(".safetensors")).sort();
  const plain = variant && candidates(undefined).some((name) => names.includes(name));
  throw new VdError({
    code: "weights",
    where: folder,
    expected: `one of ${candidates(variant).join(", ")}`,
    got: others.length === 0 ? "a folder without .safetensors files" : others.slice(0, 8).join(", "),
    hint: plain
      ? `There is a checkpoint without the variant: leave out variant "${variant}".`
      : "Pass the .safetensors file itself, or a model's own folder such as unet or vae.",
  });
}

/** Most tensors of a sharded model; the largest published ones have some hundred thousand. */
const maxIndexEntries = 2 ** 20;
/** Most bytes of a file's name. */
const maxNameBytes = 2 ** 12;

function damagedIndex(where: string, expected: string, got: string, cause?: unknown): VdError {
  return new VdError({ code: "weights", where, expected, got, cause, hint: "Download the model's index file again." });
}

/** Reads which file has which tensor. Pauses. */
function* readIndex(path: string): Pausable<Map<string, string>> {
  const { size } = describe(path);
  if (size > maxIndexBytes) throw damagedIndex(path, `an index of at most ${maxIndexBytes} bytes`, `${size} bytes`);
  let bytes: Uint8Array;
  try {
    bytes = readFileSync(path);
  } catch (error) {
    throw fileError(path, "a readable index file", error);
  }
  yield;
  const rules: JsonRules = {
    ...{ what: "an index", maxMembers: maxIndexEntries, maxLevels: maxIndexLevels },
    fault: (expected, got, cause) => damagedIndex(path, expected, got, cause),
  };
  const index = new JsonMembers(bytes, rules);
  let weightMap: Map<string, string> | undefined;
  for (let next = yield* index.next(); next; next = yield* index.next()) {
    if (next.name === "weight_map") weightMap = yield* readWeightMap(next.bytes, path, rules);
  }
  if (!weightMap) throw damagedIndex(path, "weight_map as an object of file names", "nothing");
  return weightMap;
}

function* readWeightMap(bytes: Uint8Array, path: string, rules: JsonRules): Pausable<Map<string, string>> {
  if (!isObjectText(bytes)) throw rules.fault("weight_map as an object of file names", beginning(bytes));
  const files = new Map<string, string>();
  const members = new JsonMembers(bytes, rules);
  for (let next = yield* members.next(); next; next = yield* members.next()) {
    const file = parseValue(next.bytes, maxNameBytes, rules);
    if (!isPlainFileName(file)) {
      const expected = "a plain file name inside the checkpoint's folder";
      throw damagedIndex(tensorPlace(path, next.name), expected, shown(file));
    }
    files.set(next.name, file);
  }
  return files;
}

/** True for a name that stays in its folder on every system: no separator, drive, stream, dot name or NUL. */
function isPlainFileName(name: unknown): name is string {
  return typeof name === "string" && name !== "" && name !== "." && name !== ".." && !/[/\\:\0]/.test(name);
}

function collect(files: SafetensorsFile[], entries: Map<string, CheckpointTensor>): Checkpoint {
  const close = () => {
    for (const file of files) file.close();
  };
  return { entries, files, close, [Symbol.dispose]: close };
}

function* openShards(indexPath: string): Pausable<Checkpoint> {
  const files = new Map<string, SafetensorsFile>();
  const entries = new Map<string, CheckpointTensor>();
  try {
    for (const [name, fileName] of yield* readIndex(indexPath)) {
      const file = files.get(fileName) ?? (yield* SafetensorsFile.open.inPieces(join(indexPath, "..", fileName)));
      files.set(fileName, file);
      entries.set(name, { file, entry: file.entry(name) });
      if (entries.size % PIECE === 0) yield;
    }
  } catch (error) {
    for (const file of files.values()) file.close();
    throw error;
  }
  return collect([...files.values()], entries);
}

/**
 * Opens a model's weights: one .safetensors file, a *.safetensors.index.json with its shards, or a folder with either
 * under the names that diffusers and transformers use. Pauses while headers are checked.
 *
 * @throws VdError `io` where something cannot be read and `weights` where nothing fits, a file is damaged, a shard
 *   lacks a tensor or an index names a file outside its folder
 * @example
 * ```ts
 * import { openCheckpoint } from "@vd/tensor";
 *
 * using checkpoint = openCheckpoint("models/tiny-svd/unet");
 * console.log(checkpoint.entries.size, "tensors in", checkpoint.files.length, "files");
 * ```
 */
export const openCheckpoint = pausable(function* (path: string, options: CheckpointOptions = {}): Pausable<Checkpoint> {
  requireOptions("openCheckpoint", options);
  const { variant } = options;
  const file = describe(path).isDirectory() ? findInFolder(path, variant) : path;
  if (file.endsWith(".json")) return yield* openShards(file);
  const single = yield* SafetensorsFile.open.inPieces(file);
  const entries = new Map<string, CheckpointTensor>();
  for (const [name, entry] of single.entries) {
    entries.set(name, { file: single, entry });
    if (entries.size % PIECE === 0) yield;
  }
  return collect([single], entries);
});
