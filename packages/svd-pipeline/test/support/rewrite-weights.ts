import { rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import {
  fromFloat16Array,
  type SafetensorsDtype,
  SafetensorsFile,
  type TensorToWrite,
  toBfloat16Array,
  writeSafetensors,
} from "@vd/tensor";
import type { ComponentName } from "../../src/index";
import { WEIGHT_FILES } from "./tiny-model";

/** How to store a network's weights. */
export interface Storage {
  dtype: "F16" | "BF16" | "F32";
  /** What stands between the name's stem and its ending, e.g. `fp16`; none if left out. */
  variant?: string;
  /** Number of files; more than one come with an index. */
  shards?: number;
  /** Spelling of the names of a sharded variant: `stem.fp16-00001-of-00002` or `stem-00001-of-00002.fp16`. */
  spelling?: "variant first" | "variant last";
}

const codesOf = (bytes: Uint8Array) => new Uint16Array(bytes.slice().buffer);

function stored(bytes: Uint8Array, dtype: Storage["dtype"]): TensorToWrite["data"] {
  if (dtype === "F16") return bytes;
  const values = fromFloat16Array(codesOf(bytes));
  return dtype === "F32" ? values : toBfloat16Array(values);
}

/** Tensors of a network of the tiny model, which are all stored as F16, in another type. */
export function tensorsOf(folder: string, component: ComponentName, dtype: Storage["dtype"]): TensorToWrite[] {
  using file = SafetensorsFile.open(join(folder, WEIGHT_FILES[component]));
  return [...file.entries.values()].map(({ name, shape }) => ({
    name,
    shape,
    dtype: dtype as SafetensorsDtype,
    data: stored(file.readBytes(name), dtype),
  }));
}

function writeShards(folder: string, stem: string, tensors: readonly TensorToWrite[], storage: Storage): void {
  const { variant, shards = 1, spelling = "variant first" } = storage;
  const dotted = variant ? `.${variant}` : "";
  const [before, after] = spelling === "variant first" ? [dotted, ""] : ["", dotted];
  const map: Record<string, string> = {};
  for (let i = 0; i < shards; i++) {
    const name = `${stem}${before}-0000${i + 1}-of-0000${shards}${after}.safetensors`;
    const part = tensors.filter((_, at) => at % shards === i);
    writeSafetensors(join(folder, name), part);
    for (const tensor of part) map[tensor.name] = name;
  }
  const index = spelling === "variant first" ? `.safetensors.index${dotted}` : `.safetensors${dotted}.index`;
  writeFileSync(join(folder, `${stem}${index}.json`), JSON.stringify({ metadata: {}, weight_map: map }));
}

/** Adds files with the same weights, stored in another way, beside those that a copy of the tiny model has. */
export function addWeights(model: string, component: ComponentName, storage: Storage): void {
  const path = WEIGHT_FILES[component];
  const [folder, stem] = [join(model, component), path.slice(component.length + 1, -".safetensors".length)];
  const tensors = tensorsOf(model, component, storage.dtype);
  if ((storage.shards ?? 1) > 1) writeShards(folder, stem, tensors, storage);
  else writeSafetensors(join(folder, `${stem}${storage.variant ? `.${storage.variant}` : ""}.safetensors`), tensors);
}

/** Removes the files that the tiny model came with. */
export function removePlain(model: string, component: ComponentName): void {
  rmSync(join(model, WEIGHT_FILES[component]));
}
