import {
  allocateBuffer,
  type DType,
  FUNCTION,
  having,
  PATH,
  requireArgument,
  requireFields,
  TEXT,
  VdError,
  type WantedFields,
} from "@vd/kernels-native";
import {
  decodeFloat64,
  makeStorage,
  mapWeightFile,
  roundedNotice,
  type SafetensorsFile,
  type WeightEntry,
  Weights,
} from "@vd/tensor";
import { sourceBytes, sourceRange } from "./tensor-bytes";
import type { TensorSource } from "./tensor-source";

const FILE: WantedFields = { path: PATH, entry: FUNCTION, readBytes: FUNCTION };
const SOURCES = having("a Map of sources", [Symbol.iterator]);

/** Types in which weights are used; float64 is rounded. */
const DTYPES: Readonly<Record<string, DType>> = { F32: "f32", F16: "f16", BF16: "bf16", F64: "f32" };

function dtypeOf(path: string, name: string, stored: string): DType {
  const dtype = DTYPES[stored];
  if (dtype) return dtype;
  throw new VdError({ code: "dtype", where: `${path}] [${name}`, expected: "F32, F16, BF16 or F64", got: stored });
}

/**
 * The weights of one network of a single-file checkpoint, by the names of `sources`: most are places in the mapped file, a
 * few are copies. label: the network's name, for messages.
 * @throws VdError `dtype` for a type that no op takes, `attr` for what is no file and no sources.
 */
export function weightsOfSources(
  file: SafetensorsFile,
  sources: ReadonlyMap<string, TensorSource>,
  label: string,
): Weights {
  requireFields("weightsOfSources file", file, FILE);
  requireArgument("weightsOfSources sources", sources, SOURCES);
  requireArgument("weightsOfSources label", label, TEXT);
  const mapped = mapWeightFile(file.path);
  const entries = new Map<string, WeightEntry>();
  const wide: string[] = [];
  for (const [name, source] of sources) {
    const dtype = dtypeOf(file.path, name, source.dtype);
    const range = sourceRange(source);
    const isWide = source.dtype === "F64";
    if (isWide) wide.push(name);
    if (range && "name" in source && !isWide) {
      const byteOffset = file.entry(source.name).byteOffset + range.byteOffset;
      entries.set(name, { dtype, shape: source.shape, storage: mapped, byteOffset });
      continue;
    }
    const stored = sourceBytes(source, (part) => file.readBytes(part));
    const bytes = isWide ? decodeFloat64(stored) : stored;
    const buffer = allocateBuffer(bytes.byteLength);
    buffer.writeSync(bytes);
    const storage = makeStorage("weights", bytes.byteLength, name, { buffer, byteOffset: 0 });
    entries.set(name, { dtype, shape: source.shape, storage, byteOffset: 0 });
  }
  const title = `${file.path} (${label})`;
  return Weights.fromEntries(title, entries, wide.length > 0 ? [roundedNotice(title, wide)] : []);
}
