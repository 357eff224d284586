import { VdError } from "@vd/kernels-native";
import type { Pausable } from "../pausable";
import { findDuplicateKey } from "./duplicate-key";
import { isSafetensorsDtype, SAFETENSORS_DTYPE_BYTES, type SafetensorsDtype, tensorBytes } from "./safetensors-dtype";

/** Where one tensor lies in its file. */
export interface SafetensorsEntry {
  readonly name: string;
  readonly dtype: SafetensorsDtype;
  /** Outermost dimension first; empty for a scalar. */
  readonly shape: readonly number[];
  /** From the start of the file, in bytes. */
  readonly byteOffset: number;
  readonly byteLength: number;
}

/** What the JSON part of a safetensors file says, checked. */
export interface SafetensorsHeader {
  readonly entries: ReadonlyMap<string, SafetensorsEntry>;
  readonly metadata: Readonly<Record<string, string>>;
}

/** The file that a header belongs to. */
export interface HeaderOrigin {
  readonly path: string;
  readonly fileBytes: number;
  /** Where tensor data starts: 8 + the header's length. */
  readonly dataOffset: number;
}

type JsonObject = Record<string, unknown>;

/** A value as an error message shows it: short, and with control characters escaped. */
export function shown(value: unknown): string {
  if (value === undefined) return "nothing";
  if (Array.isArray(value)) {
    const flat = value.length <= 8 && value.every((item) => typeof item !== "object");
    return flat ? `[${value.map(shown).join(", ")}]` : `a list of ${value.length}`;
  }
  if (typeof value === "object" && value !== null) return "an object";
  const text = JSON.stringify(value);
  return text.length > 120 ? `${text.slice(0, 117)}…` : text;
}

/** A tensor's name beside its file's, as the `where` of an error. */
export function tensorPlace(path: string, name: string): string {
  return `${path}: ${shown(name).slice(1, -1)}`;
}

function damaged(where: string, expected: string, got: string, cause?: unknown): VdError {
  const hint = "The file is damaged or not a safetensors file: download or export it again.";
  return new VdError({ code: "weights", where, expected, got, hint, cause });
}

function isObject(value: unknown): value is JsonObject {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

function isCount(value: unknown): value is number {
  return Number.isSafeInteger(value) && !Object.is(value, -0) && (value as number) >= 0;
}

function* parseJson(bytes: Uint8Array, path: string): Pausable<JsonObject> {
  let text: string;
  try {
    text = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(bytes);
  } catch (cause) {
    throw damaged(path, "a header in UTF-8", "bytes that are not UTF-8", cause);
  }
  if (text[0] !== "{") throw damaged(path, "a header that starts with {", shown(text.slice(0, 16)));
  let json: unknown;
  try {
    json = JSON.parse(text);
  } catch (cause) {
    throw damaged(path, "a header in JSON", shown((cause as Error).message).slice(1, -1), cause);
  }
  yield;
  const twice = yield* findDuplicateKey(text);
  if (twice !== undefined) throw damaged(tensorPlace(path, twice), "every key once", "the key twice");
  return json as JsonObject;
}

function parseMetadata(value: unknown, path: string): Readonly<Record<string, string>> {
  const where = tensorPlace(path, "__metadata__");
  if (value === undefined) return {};
  if (!isObject(value)) throw damaged(where, "an object of strings", shown(value));
  for (const [key, text] of Object.entries(value)) {
    if (typeof text !== "string") throw damaged(where, `a string for ${shown(key)}`, shown(text));
  }
  return value as Record<string, string>;
}

function parseEntry(name: string, value: unknown, origin: HeaderOrigin): SafetensorsEntry {
  const where = tensorPlace(origin.path, name);
  if (!isObject(value)) throw damaged(where, "an object with dtype, shape and data_offsets", shown(value));
  const { dtype, shape, data_offsets: offsets } = value;
  if (!isSafetensorsDtype(dtype)) {
    throw damaged(where, `dtype as one of ${Object.keys(SAFETENSORS_DTYPE_BYTES).join(", ")}`, shown(dtype));
  }
  if (!Array.isArray(shape) || !shape.every(isCount)) {
    throw damaged(where, "shape as a list of whole numbers from 0 up", shown(shape));
  }
  if (!Array.isArray(offsets) || offsets.length !== 2 || !offsets.every(isCount)) {
    throw damaged(where, "data_offsets as two whole numbers from 0 up", shown(offsets));
  }
  const [begin, end] = offsets as [number, number];
  const dataBytes = origin.fileBytes - origin.dataOffset;
  if (begin > end) throw damaged(where, "data_offsets in ascending order", shown(offsets));
  if (end > dataBytes) throw damaged(where, `data within the file's ${dataBytes} data bytes`, `data to byte ${end}`);
  const byteLength = tensorBytes(dtype, shape);
  if (byteLength !== end - begin) {
    const size = byteLength === undefined ? "more bytes than can be counted" : `${byteLength} bytes`;
    throw damaged(where, `${size} for ${dtype} ${shown(shape)}`, `${end - begin} bytes of data`);
  }
  return { name, dtype, shape, byteOffset: origin.dataOffset + begin, byteLength };
}

/** The format wants tensors that cover the data without gap, overlap or rest. */
function checkCoverage(entries: ReadonlyMap<string, SafetensorsEntry>, origin: HeaderOrigin): void {
  const inOrder = [...entries.values()].sort((a, b) => a.byteOffset - b.byteOffset || a.byteLength - b.byteLength);
  let next = origin.dataOffset;
  for (const { name, byteOffset, byteLength } of inOrder) {
    if (byteOffset !== next) {
      const expected = `data from byte ${next - origin.dataOffset}, where the tensor before it ends`;
      const fault = byteOffset < next ? "overlapping data" : "a gap before data";
      throw damaged(tensorPlace(origin.path, name), expected, `${fault} from byte ${byteOffset - origin.dataOffset}`);
    }
    next = byteOffset + byteLength;
  }
  if (next !== origin.fileBytes) {
    const expected = `a file of ${next} bytes, as its header describes`;
    throw damaged(origin.path, expected, `${origin.fileBytes} bytes`);
  }
}

/** Tensors between two pauses. */
const PIECE = 64;

/**
 * Reads and checks the JSON header `bytes` of a safetensors file: every tensor's type, shape and place, and that the
 * tensors cover the data exactly. Source: https://github.com/huggingface/safetensors (format section of the README).
 * Pauses after some tensors.
 *
 * @throws VdError `weights` naming the file and the tensor
 */
export function* parseHeader(bytes: Uint8Array, origin: HeaderOrigin): Pausable<SafetensorsHeader> {
  const json = yield* parseJson(bytes, origin.path);
  const entries = new Map<string, SafetensorsEntry>();
  let metadata: Readonly<Record<string, string>> = {};
  for (const [name, value] of Object.entries(json)) {
    if (name === "__metadata__") metadata = parseMetadata(value, origin.path);
    else entries.set(name, parseEntry(name, value, origin));
    if (entries.size % PIECE === 0) yield;
  }
  checkCoverage(entries, origin);
  yield;
  return { entries, metadata };
}
