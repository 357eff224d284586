import { allocateBuffer, type DType, VdError } from "@vd/kernels-native";
import { makeStorage, mapWeightFile, type SafetensorsFile, type WeightEntry, Weights } from "@vd/tensor";
import { sourceBytes, sourceRange } from "./tensor-bytes";
import type { TensorSource } from "./tensor-source";

const DTYPES: Readonly<Record<string, DType>> = { F32: "f32", F16: "f16", BF16: "bf16" };

function dtypeOf(path: string, name: string, stored: string): DType {
  const dtype = DTYPES[stored];
  if (dtype) return dtype;
  throw new VdError({ code: "dtype", where: `${path}] [${name}`, expected: "F32, F16 or BF16", got: stored });
}

/**
 * The weights of one network of a single-file checkpoint, by the names of `sources`: most are places in the mapped file, a
 * few are copies. label: the network's name, for messages.
 * @throws VdError `dtype` for a type that no op takes.
 */
export function weightsOfSources(
  file: SafetensorsFile,
  sources: ReadonlyMap<string, TensorSource>,
  label: string,
): Weights {
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
  return Weights.fromEntries(`${file.path} (${label})`, entries);
}
