import { statfs } from "node:fs/promises";
import { dirname, join } from "node:path";
import { VdError } from "@vd/kernels-native";
import { parseClipVisionConfig, parseUnetConfig } from "@vd/svd-pipeline";
import { makeFolder, streamSafetensors, type TensorToWrite, writeWholeFile } from "@vd/tensor";
import { parseVaeConfig } from "@vd/vae-opt";
import { clipTensors } from "./clip-tensors";
import { type ModelConfigs, modelConfigs, type Preset } from "./configs";
import { fillFromTable, normalCodes } from "./normal-codes";
import type { SyntheticTensor } from "./tensors";
import { unetTensors } from "./unet-tensors";
import { vaeTensors } from "./vae-tensors";

const HALF_BYTES = 2;

/** A weight file of a model folder and what is in it. */
export interface SyntheticFile {
  path: string;
  tensors: SyntheticTensor[];
}

/**
 * The weight files that these configurations ask for.
 *
 * @throws VdError `weights` for a configuration that is wrong
 */
export function syntheticFiles(configs: ModelConfigs): SyntheticFile[] {
  return [
    {
      path: "unet/diffusion_pytorch_model.fp16.safetensors",
      tensors: unetTensors(parseUnetConfig(configs["unet/config.json"])),
    },
    {
      path: "vae/diffusion_pytorch_model.fp16.safetensors",
      tensors: vaeTensors(parseVaeConfig(configs["vae/config.json"])),
    },
    {
      path: "image_encoder/model.fp16.safetensors",
      tensors: clipTensors(parseClipVisionConfig(configs["image_encoder/config.json"])),
    },
  ];
}

const countOf = ({ shape }: SyntheticTensor) => shape.reduce((product, size) => product * size, 1);

/** Tables by mean and deviation: a model has some dozens. */
class Tables {
  private readonly known = new Map<string, Uint16Array>();

  of({ mean, deviation }: SyntheticTensor): Uint16Array {
    const key = `${mean} ${deviation}`;
    const table = this.known.get(key) ?? normalCodes(mean, deviation);
    this.known.set(key, table);
    return table;
  }
}

function tensorToWrite(tensor: SyntheticTensor, label: string, tables: Tables): TensorToWrite {
  return {
    name: tensor.name,
    dtype: "F16",
    shape: tensor.shape,
    data: () => {
      const codes = new Uint16Array(countOf(tensor));
      fillFromTable(codes, tables.of(tensor), label);
      return codes;
    },
  };
}

async function requireSpace(dir: string, bytes: number): Promise<void> {
  const { bavail, bsize } = await statfs(dir);
  if (bavail * bsize >= bytes) return;
  const inGigabytes = (n: number) => `${(n / 1e9).toFixed(2)} GB`;
  throw new VdError({
    code: "io",
    where: dir,
    expected: `${inGigabytes(bytes)} of free space`,
    got: inGigabytes(bavail * bsize),
    hint: "Free some space or choose another folder.",
  });
}

/** What to make, and how it reports and stops. */
export interface MakeModelOptions {
  preset: Preset;
  dir: string;
  /** The same seed gives the same bytes. */
  seed: bigint;
  signal?: AbortSignal | undefined;
  onProgress?: ((writtenBytes: number, totalBytes: number) => void) | undefined;
}

/**
 * Writes a model with random float16 weights in the standard folder layout: norms near the identity, mix factors away
 * from 0, layers scaled so that activations stay within float16. Files appear when they are complete. Returns the bytes
 * of all weights.
 *
 * @throws VdError `io`; the signal's reason when it is cancelled
 */
export async function makeModel({ preset, dir, seed, signal, onProgress }: MakeModelOptions): Promise<number> {
  const configs = modelConfigs(preset);
  const files = syntheticFiles(configs);
  const bytesOf = (file: SyntheticFile) => file.tensors.reduce((sum, tensor) => sum + HALF_BYTES * countOf(tensor), 0);
  const totalBytes = files.reduce((sum, file) => sum + bytesOf(file), 0);
  await makeFolders(dir, [...Object.keys(configs), ...files.map(({ path }) => path)]);
  await requireSpace(dir, totalBytes);
  const tables = new Tables();
  let before = 0;
  for (const file of files) {
    const tensors = file.tensors.map((tensor) =>
      tensorToWrite(tensor, `${seed} ${dirname(file.path)} ${tensor.name}`, tables),
    );
    const onWritten = (bytes: number) => onProgress?.(before + bytes, totalBytes);
    await streamSafetensors(join(dir, file.path), tensors, { metadata: { format: "pt" }, signal, onWritten });
    before += bytesOf(file);
  }
  // The index comes last: a folder without it is no model.
  for (const [path, json] of Object.entries(configs).reverse()) await writeWholeFile(join(dir, path), configText(json));
  return totalBytes;
}

/** Settings that Python's readers take as float only. */
const FLOAT_KEYS = /"(attention_dropout|dropout|initializer_factor|sigma_max)": (\d+)(?=[,\n])/g;

/** A configuration as Python would write it: `1.0` where a float is meant. */
const configText = (json: unknown) => `${JSON.stringify(json, null, 2).replace(FLOAT_KEYS, '"$1": $2.0')}\n`;

async function makeFolders(dir: string, paths: readonly string[]): Promise<void> {
  for (const folder of new Set(paths.map((path) => join(dir, dirname(path)))))
    await makeFolder(folder).catch((cause: NodeJS.ErrnoException) => {
      throw new VdError({
        code: "io",
        where: folder,
        expected: "a folder that can be made",
        got: cause.message,
        hint: "Choose another folder or change its permissions.",
        cause,
      });
    });
}
