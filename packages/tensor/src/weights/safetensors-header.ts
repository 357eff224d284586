import { shown, VdError } from "@vd/kernels-native";
import type { Pausable } from "../pausable";
import { beginning, duplicateIn, isObjectText, JsonMembers, type JsonRules, parseValue } from "./json-members";
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

/** Most tensors of a file; the largest published ones have some ten thousand. */
const MAX_TENSORS = 2 ** 18;
/** Most entries of the metadata. */
const MAX_METADATA = 2 ** 16;
/** Most bytes of one tensor's description, which has some hundred. */
const MAX_DESCRIPTION_BYTES = 2 ** 16;
/** Most bytes of one text of the metadata: some programs store pictures there. */
const MAX_METADATA_BYTES = 2 ** 24;
/** A tensor's object holds lists. */
const MAX_LEVELS = 2;

function* parseMetadata(bytes: Uint8Array, path: string, rules: JsonRules): Pausable<Readonly<Record<string, string>>> {
  const where = tensorPlace(path, "__metadata__");
  if (!isObjectText(bytes)) {
    throw damaged(where, "an object of strings", shown(parseValue(bytes, MAX_METADATA_BYTES, rules)));
  }
  const texts = new Map<string, string>();
  const members = new JsonMembers(bytes, { ...rules, maxMembers: MAX_METADATA });
  for (let next = yield* members.next(); next; next = yield* members.next()) {
    const text = parseValue(next.bytes, MAX_METADATA_BYTES, rules);
    if (texts.has(next.name)) throw twice(path, next.name);
    if (typeof text !== "string") throw damaged(where, `a string for ${shown(next.name)}`, shown(text));
    texts.set(next.name, text);
  }
  return Object.fromEntries(texts);
}

function twice(path: string, name: string): VdError {
  return damaged(tensorPlace(path, name), "every key once", "the key twice");
}

function* parseDescription(bytes: Uint8Array, path: string, rules: JsonRules): Pausable<unknown> {
  const value = parseValue(bytes, MAX_DESCRIPTION_BYTES, rules);
  const key = yield* duplicateIn(bytes);
  if (key !== undefined) throw twice(path, key);
  return value;
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
  const inOrder = [...entries.values()];
  const before = (a: SafetensorsEntry, b: SafetensorsEntry) =>
    a.byteOffset - b.byteOffset || a.byteLength - b.byteLength;
  // Writers describe tensors in the order of their data; sorting many takes longer than the event loop should wait.
  if (inOrder.some((entry, i) => i > 0 && before(inOrder[i - 1]!, entry) > 0)) inOrder.sort(before);
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
  const { path } = origin;
  if (!isObjectText(bytes)) throw damaged(path, "a header that starts with {", shown(beginning(bytes)));
  const rules: JsonRules = {
    ...{ what: "a header", maxMembers: MAX_TENSORS + 1, maxLevels: MAX_LEVELS },
    fault: (expected, got, cause) => damaged(path, expected, got, cause),
  };
  const entries = new Map<string, SafetensorsEntry>();
  let metadata: Readonly<Record<string, string>> | undefined;
  const members = new JsonMembers(bytes, rules);
  for (let next = yield* members.next(); next; next = yield* members.next()) {
    const { name } = next;
    if (name === "__metadata__") {
      if (metadata) throw twice(path, name);
      metadata = yield* parseMetadata(next.bytes, path, rules);
      continue;
    }
    if (entries.has(name)) throw twice(path, name);
    entries.set(name, parseEntry(name, yield* parseDescription(next.bytes, path, rules), origin));
    if (entries.size % PIECE === 0) yield;
  }
  checkCoverage(entries, origin);
  yield;
  return { entries, metadata: metadata ?? {} };
}
