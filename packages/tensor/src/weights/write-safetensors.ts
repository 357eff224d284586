import { writeSync } from "node:fs";
import type { FileHandle } from "node:fs/promises";
import {
  FUNCTION,
  OBJECT,
  optional,
  requireArgument,
  requireFields,
  requireText,
  SIGNAL,
  shown,
  TEXT,
  throwIfAborted,
  VdError,
} from "@vd/kernels-native";
import { fillSynced, placeFile, placeFileSync } from "../files/whole-file";
import { isSafetensorsDtype, SAFETENSORS_DTYPE_BYTES, type SafetensorsDtype, tensorBytes } from "./safetensors-dtype";
import { tensorPlace } from "./safetensors-header";

/** Elements in memory: raw little-endian bytes, or an array whose element type is the tensor's own. */
export type TensorData =
  | Uint8Array
  | Int8Array
  | Uint16Array
  | Int16Array
  | Uint32Array
  | Int32Array
  | Float32Array
  | Float64Array
  | BigInt64Array
  | BigUint64Array;

/** One tensor for {@link writeSafetensors}. */
export interface TensorToWrite {
  name: string;
  dtype: SafetensorsDtype;
  shape: readonly number[];
  /** The elements, or a function that makes them when their turn comes, so that one tensor is in memory at a time. */
  data: TensorData | (() => TensorData);
}

/** Array kinds, besides Uint8Array for raw bytes, that may carry each element type. */
const carriers: Readonly<Record<SafetensorsDtype, readonly string[]>> = {
  F64: ["Float64Array"],
  I64: ["BigInt64Array"],
  U64: ["BigUint64Array"],
  F32: ["Float32Array"],
  I32: ["Int32Array"],
  U32: ["Uint32Array"],
  F16: ["Uint16Array"],
  BF16: ["Uint16Array"],
  I16: ["Int16Array"],
  U16: ["Uint16Array"],
  F8_E4M3: [],
  F8_E5M2: [],
  I8: ["Int8Array"],
  U8: ["Uint8ClampedArray"],
  BOOL: [],
};

/** One write call takes less than 2 GiB. */
const maxWriteBytes = 2 ** 30;

interface Planned extends TensorToWrite {
  byteLength: number;
}

function refused(path: string, name: string, code: "weights" | "dtype" | "shape", expected: string, got: string) {
  return new VdError({ code, where: tensorPlace(path, name), expected, got });
}

const TENSOR_TO_WRITE = { name: TEXT, shape: { expected: "a list of sizes", fits: Array.isArray } };

function plan(path: string, tensors: Iterable<TensorToWrite>): Planned[] {
  const names = new Set<string>(["__metadata__"]);
  const planned: Planned[] = [];
  requireText("path", path, "the path of the file to write");
  if (typeof tensors !== "object" || tensors === null || !(Symbol.iterator in tensors))
    throw new VdError({ code: "attr", where: "tensors", expected: "a list of tensors to write", got: shown(tensors) });
  for (const tensor of tensors) {
    requireFields("tensors", tensor, TENSOR_TO_WRITE);
    const { name, dtype, shape } = tensor;
    if (names.has(name)) throw refused(path, name, "weights", "a name of its own", "one that is taken");
    names.add(name);
    if (!isSafetensorsDtype(dtype)) {
      throw refused(path, name, "dtype", `one of ${Object.keys(SAFETENSORS_DTYPE_BYTES).join(", ")}`, shown(dtype));
    }
    const valid = shape.every((size) => Number.isSafeInteger(size) && size >= 0);
    const byteLength = valid ? tensorBytes(dtype, shape) : undefined;
    if (byteLength === undefined) throw refused(path, name, "shape", "whole numbers from 0 up", shown(shape));
    planned.push({ ...tensor, byteLength });
  }
  // The widest elements first: then every tensor starts at a multiple of its element's size.
  return planned.sort((a, b) => SAFETENSORS_DTYPE_BYTES[b.dtype] - SAFETENSORS_DTYPE_BYTES[a.dtype]);
}

/** Length and JSON, padded with spaces so that the data starts at a multiple of 8. */
function encodeHeader(tensors: readonly Planned[], metadata: Readonly<Record<string, string>> | undefined): Uint8Array {
  const header: [string, unknown][] = metadata === undefined ? [] : [["__metadata__", metadata]];
  let offset = 0;
  for (const { name, dtype, shape, byteLength } of tensors) {
    header.push([name, { dtype, shape, data_offsets: [offset, offset + byteLength] }]);
    offset += byteLength;
  }
  const json = new TextEncoder().encode(JSON.stringify(Object.fromEntries(header)));
  const padded = Math.ceil(json.length / 8) * 8;
  const bytes = new Uint8Array(8 + padded).fill(0x20, 8);
  new DataView(bytes.buffer).setBigUint64(0, BigInt(padded), true);
  bytes.set(json, 8);
  return bytes;
}

function bytesOf(path: string, { name, dtype, shape, data, byteLength }: Planned): Uint8Array {
  const values = typeof data === "function" ? data() : data;
  const kind = Object.prototype.toString.call(values).slice(8, -1);
  if (kind !== "Uint8Array" && !carriers[dtype].includes(kind)) {
    const expected = ["Uint8Array", ...carriers[dtype]].join(" or ");
    throw refused(path, name, "dtype", `${expected} for ${dtype}`, kind);
  }
  if (values.byteLength !== byteLength) {
    const expected = `${byteLength} bytes for ${dtype} ${shown(shape)}`;
    throw refused(path, name, "shape", expected, `${values.byteLength} bytes`);
  }
  return new Uint8Array(values.buffer, values.byteOffset, values.byteLength);
}

function writeAll(descriptor: number, bytes: Uint8Array): void {
  for (let done = 0; done < bytes.length; ) {
    done += writeSync(descriptor, bytes, done, Math.min(bytes.length - done, maxWriteBytes));
  }
}

/**
 * Writes a safetensors file at `path`, tensor by tensor, with the header padded to 8 bytes. The file appears under its
 * name when it is complete (a temporary file in the same folder is renamed) and not at all on failure. Source:
 * https://github.com/huggingface/safetensors (format section of the README).
 *
 * @throws VdError `io` where the disk refuses, `weights`, `dtype` or `shape` where a tensor's name or data do not fit
 *   its description, `attr` for what is no path or list
 * @example
 * ```ts
 * import { writeSafetensors } from "@vd/tensor";
 *
 * const data = Float32Array.of(1, 2, 3, 4);
 * writeSafetensors("out.safetensors", [{ name: "weight", dtype: "F32", shape: [2, 2], data }]);
 * ```
 */
export function writeSafetensors(
  path: string,
  tensors: Iterable<TensorToWrite>,
  metadata?: Readonly<Record<string, string>>,
): void {
  requireArgument("writeSafetensors metadata", metadata, optional(OBJECT));
  const planned = plan(path, tensors);
  placeFileSync(path, (descriptor) => {
    writeAll(descriptor, encodeHeader(planned, metadata));
    for (const tensor of planned) writeAll(descriptor, bytesOf(path, tensor));
  });
}

/** How {@link streamSafetensors} reports and stops. */
export interface StreamOptions {
  metadata?: Readonly<Record<string, string>> | undefined;
  /** Stops after the current tensor; the call then rejects with the signal's reason. */
  signal?: AbortSignal | undefined;
  /** Called after each tensor with the bytes of data written so far. */
  onWritten?: ((bytes: number) => void) | undefined;
}

const STREAM = { metadata: optional(OBJECT), signal: optional(SIGNAL), onWritten: optional(FUNCTION) };

/** Does what {@link writeSafetensors} does, off the event loop, for files of gigabytes: one tensor is in memory at a time if `data`
 *  are functions. */
export async function streamSafetensors(
  path: string,
  tensors: Iterable<TensorToWrite>,
  options: StreamOptions = {},
): Promise<void> {
  requireFields("streamSafetensors", options, STREAM);
  const { metadata, signal, onWritten } = options;
  const planned = plan(path, tensors);
  const fill = async (file: FileHandle) => {
    await file.writeFile(encodeHeader(planned, metadata));
    let written = 0;
    for (const tensor of planned) {
      throwIfAborted(signal, path, { work: "the writing" });
      await file.writeFile(bytesOf(path, tensor));
      written += tensor.byteLength;
      onWritten?.(written);
    }
  };
  await placeFile(path, {}, (temporary) => fillSynced(temporary, fill));
}
