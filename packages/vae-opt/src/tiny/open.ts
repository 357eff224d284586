import { existsSync, readdirSync } from "node:fs";
import { stat } from "node:fs/promises";
import { join } from "node:path";
import { type OpenFile, recordFiles } from "@vd/hub";
import { VdError } from "@vd/kernels-native";
import { fileError, runInSlices, SafetensorsFile, Weights } from "@vd/tensor";
import { type HalfShapes, type TinyLayer, tinyLayers } from "./layers";

/** One half of a tiny autoencoder: its layers, and the weights that they are numbered in. */
export interface TinyHalf {
  weights: Weights;
  layers: TinyLayer[];
}

/** The halves that were found. */
export interface TinyComponents {
  /** The file or folder, for messages. */
  source: string;
  decoder?: TinyHalf;
  encoder?: TinyHalf;
  files: readonly OpenFile[];
}

type HalfName = "encoder" | "decoder";

const WHERE_TO_GET =
  "Get taesdv.safetensors, or taesd_decoder.safetensors and taesd_encoder.safetensors, from " +
  "https://huggingface.co/madebyollin, and give the file or its folder; a .pth file must be saved as .safetensors first.";

const noWeights = (where: string, got: string): VdError =>
  new VdError({ code: "io", where, expected: "weights of a tiny autoencoder (.safetensors)", got, hint: WHERE_TO_GET });

/** What stands before the numbers of a half's layers, by layout: diffusers' AutoencoderTiny, TAESDV, and a file of one half. */
const PREFIXES: Readonly<Record<HalfName, readonly string[]>> = {
  encoder: ["encoder.layers.", "encoder."],
  decoder: ["decoder.layers.", "decoder."],
};

/** The shapes below a prefix. */
function below(shapes: HalfShapes, prefix: string): HalfShapes {
  const inside = [...shapes].filter(([name]) => name.startsWith(prefix) && /^\d/.test(name.slice(prefix.length)));
  return new Map(inside.map(([name, shape]) => [name.slice(prefix.length), shape]));
}

/** Refuses a half that does not lead from pictures to latents or back: its outermost layers would be missing. @throws VdError `weights` */
function checkEnds(where: string, name: HalfName, layers: readonly TinyLayer[]): void {
  const [first, last] = [layers[0]!, layers[layers.length - 1]!];
  const [place, channels] = name === "decoder" ? (["last", last.cout] as const) : (["first", first.cin] as const);
  if (channels === 3 && first.kind === "conv" && last.kind === "conv" && layers.length > 1) return;
  throw new VdError({
    ...{ code: "weights", where },
    expected: `layers of which the ${place} one has the three channels of a picture`,
    got: `${layers.length === 1 ? "one layer" : `${layers.length} layers`}, from ${first.cin} to ${last.cout} channels`,
    hint: "The file lacks layers: download or export it again.",
  });
}

/** A file of one half has numbers alone: an encoder begins with pictures of three channels and ends with latents. */
function halfOfNumbers(path: string, shapes: HalfShapes): { name: HalfName; layers: TinyLayer[] } {
  const layers = tinyLayers(path, shapes);
  const [first, last] = [layers[0]!, layers[layers.length - 1]!];
  if (last.cout === 3) return { name: "decoder", layers };
  if (first.cin === 3) return { name: "encoder", layers };
  throw noWeights(path, `layers from ${first.cin} to ${last.cout} channels`);
}

async function halvesOf(path: string): Promise<Partial<Record<HalfName, TinyHalf>>> {
  if (!path.endsWith(".safetensors")) throw noWeights(path, "a file of another kind");
  let shapes: HalfShapes;
  {
    using file = await runInSlices(SafetensorsFile.open.inPieces(path));
    shapes = new Map([...file.entries.values()].map(({ name, shape }) => [name, shape]));
  }
  const weights = await runInSlices(Weights.open.inPieces(path));
  const halves: Partial<Record<HalfName, TinyHalf>> = {};
  for (const name of ["encoder", "decoder"] as const)
    for (const prefix of PREFIXES[name]) {
      const inside = below(shapes, prefix);
      if (inside.size === 0 || halves[name]) continue;
      const where = `${path}] [${name}`;
      const layers = tinyLayers(where, inside);
      checkEnds(where, name, layers);
      halves[name] = { weights: weights.at(prefix.slice(0, -1)), layers };
    }
  if (halves.encoder || halves.decoder) return halves;
  const { name, layers } = halfOfNumbers(path, shapes);
  checkEnds(path, name, layers);
  return { [name]: { weights, layers } };
}

/** The files of a folder that hold a tiny autoencoder: one for both halves, or one for each. */
function filesIn(folder: string): string[] {
  const names = readdirSync(folder).filter((name) => name.endsWith(".safetensors"));
  const whole = names.find((name) => name === "diffusion_pytorch_model.safetensors" || /^taesdv\b/.test(name));
  if (whole) return [join(folder, whole)];
  const halves = names.filter((name) => /(?:en|de)coder\.safetensors$/.test(name));
  if (halves.length === 0) throw noWeights(folder, names.length === 0 ? "none" : names.slice(0, 3).join(", "));
  for (const half of ["encoder.safetensors", "decoder.safetensors"]) {
    const found = halves.filter((name) => name.endsWith(half));
    if (found.length <= 1) continue;
    throw new VdError({
      ...{ code: "weights", where: folder, expected: `one file …${half}`, got: found.sort().join(", ") },
      hint: "They are of several models: give the file, or a folder of its own for each model.",
    });
  }
  return halves.map((name) => join(folder, name));
}

/**
 * Opens a tiny autoencoder: a file, or a folder with one or with a file for each half.
 *
 * @throws VdError `io` where there are no weights, saying where to get them; `weights` for another layout
 */
export async function openTiny(source: string): Promise<TinyComponents> {
  if (typeof source !== "string" || source === "" || !existsSync(source))
    throw noWeights(String(source), "no such file");
  const isFolder = await stat(source).then(
    (found) => found.isDirectory(),
    (cause: unknown) => {
      throw fileError(source, "a tiny autoencoder", cause);
    },
  );
  const paths = isFolder ? filesIn(source) : [source];
  const halves: Partial<Record<HalfName, TinyHalf>> = {};
  for (const path of paths) Object.assign(halves, await halvesOf(path));
  return { source, ...halves, files: recordFiles(paths) };
}
