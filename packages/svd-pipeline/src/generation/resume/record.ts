import { createHash, type Hash } from "node:crypto";
import { open } from "node:fs/promises";
import { basename, dirname } from "node:path";
import { type DType, isVdError, VdError } from "@vd/kernels-native";
import {
  type Pausable,
  runInSlices,
  type SafetensorsDtype,
  SafetensorsFile,
  streamSafetensors,
  syncFolder,
} from "@vd/tensor";

/** Element types of stored tensors, as safetensors files spell those of the op contract. */
const STORED_TYPES = {
  f32: "F32",
  f16: "F16",
  bf16: "BF16",
  i32: "I32",
  i8: "I8",
  u8: "U8",
  f8e4m3: "F8_E4M3",
} as const;

/** A tensor as it lies in memory. */
export interface StoredTensor {
  dtype: DType;
  dims: readonly number[];
  bytes: Uint8Array;
}

/** One part of a state: tensors by name, and what else there is to say, as texts. */
export interface StateRecord {
  texts: Readonly<Record<string, string>>;
  tensors: Readonly<Record<string, StoredTensor>>;
}

/** The text that holds the checksum. */
const CHECKSUM = "sha256";
/** Bytes that are added to a checksum between two pauses. */
const PIECE_BYTES = 1 << 18;

const byName = ([a]: readonly [string, unknown], [b]: readonly [string, unknown]) => (a < b ? -1 : 1);

/** The SHA-256 of everything in a record: texts, names, types, sizes and elements. Pauses after some bytes. */
function* checksumOf({ texts, tensors }: StateRecord): Pausable<string> {
  const hash: Hash = createHash("sha256");
  const named = Object.entries(tensors).sort(byName);
  const shapes = named.map(([name, { dtype, dims }]) => [name, dtype, dims]);
  hash.update(JSON.stringify([Object.entries(texts).sort(byName), shapes]));
  for (const [, { bytes }] of named)
    for (let begin = 0; begin < bytes.length; begin += PIECE_BYTES) {
      hash.update(bytes.subarray(begin, begin + PIECE_BYTES));
      yield;
    }
  return hash.digest("hex");
}

/**
 * Writes a record as a safetensors file, whole or not at all: it is on the disk under its name when the promise settles. The event
 * loop turns meanwhile.
 *
 * @throws VdError `io`
 */
export async function writeRecord(path: string, record: StateRecord): Promise<void> {
  const checksum = await runInSlices(checksumOf(record));
  const tensors = Object.entries(record.tensors).map(([name, { dtype, dims, bytes }]) => ({
    ...{ name, shape: dims, data: bytes },
    dtype: STORED_TYPES[dtype as keyof typeof STORED_TYPES] satisfies SafetensorsDtype,
  }));
  await streamSafetensors(path, tensors, { metadata: { ...record.texts, [CHECKSUM]: checksum } });
  await syncFolder(dirname(path));
}

const contractType = (stored: string) =>
  Object.entries(STORED_TYPES).find(([, name]) => name === stored)?.[0] as DType | undefined;

/**
 * Reads a record back.
 *
 * @throws VdError `weights` for a file that is not what was written, `io` for one that cannot be read
 */
export async function readRecord(path: string): Promise<StateRecord> {
  const { texts, checksum, tensors } = await readTensors(path);
  const record = { texts, tensors };
  if ((await runInSlices(checksumOf(record))) === checksum) return record;
  throw damaged(path, "contents that have another checksum");
}

async function readTensors(path: string): Promise<StateRecord & { checksum: string | undefined }> {
  using file = await runInSlices(SafetensorsFile.open.inPieces(path));
  const { [CHECKSUM]: checksum, ...texts } = file.metadata;
  const handle = await open(path, "r");
  try {
    const tensors: Record<string, StoredTensor> = {};
    for (const { name, dtype: stored, shape, byteOffset, byteLength } of file.entries.values()) {
      const dtype = contractType(stored);
      if (!dtype) throw damaged(path, `a tensor of ${stored}`);
      const bytes = new Uint8Array(byteLength);
      const { bytesRead } = await handle.read(bytes, 0, byteLength, byteOffset);
      if (bytesRead !== byteLength) throw damaged(path, "fewer bytes");
      tensors[name] = { dtype, dims: shape, bytes };
    }
    return { texts, checksum, tensors };
  } finally {
    await handle.close();
  }
}

function damaged(path: string, got: string): VdError {
  return new VdError({ code: "weights", where: path, expected: "a part of a state as it was written", got });
}

/** The sentence about a file of a state that cannot be used; undefined for any other error. */
export function damageOf(path: string, error: unknown): string | undefined {
  if (!isVdError(error) || error.code === "cancelled") return undefined;
  return `${basename(path)} of the state in ${dirname(path)} is damaged (${error.got})`;
}

/** Numbers as a stored tensor, which shares their memory. */
export function storedFloats(values: Float32Array, dims: readonly number[] = [values.length]): StoredTensor {
  const { buffer, byteOffset, byteLength } = values;
  return { dtype: "f32", dims, bytes: new Uint8Array(buffer, byteOffset, byteLength) };
}

/**
 * Numbers that {@link storedFloats} stored.
 *
 * @throws VdError `weights` for a tensor that a record lacks, or of another type
 */
export function floatsOf({ tensors }: StateRecord, name: string): Float32Array {
  const tensor = tensors[name];
  if (tensor?.dtype !== "f32")
    throw new VdError({ code: "weights", where: name, expected: "a stored tensor in float32", got: "none" });
  return new Float32Array(tensor.bytes.buffer, tensor.bytes.byteOffset, tensor.bytes.byteLength / 4);
}
