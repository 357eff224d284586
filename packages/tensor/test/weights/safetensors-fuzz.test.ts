import { closeSync, ftruncateSync, openSync, writeSync } from "node:fs";
import { isVdError } from "@vd/kernels-native";
import * as fc from "fast-check";
import { afterAll, expect, test } from "vitest";
import { SAFETENSORS_DTYPE_BYTES, type SafetensorsDtype, SafetensorsFile } from "../../src/weights/safetensors";
import { Folder, fileBytes, largestAllocation } from "./raw-file";

const folder = new Folder();
afterAll(() => {
  closeSync(written);
  folder.remove();
});

const dtypes = Object.keys(SAFETENSORS_DTYPE_BYTES) as SafetensorsDtype[];
type Header = Record<string, Record<string, unknown>>;

/** A valid file's header and data size. */
const validHeader = fc
  .array(fc.record({ dtype: fc.constantFrom(...dtypes), shape: fc.array(fc.nat(4), { maxLength: 3 }) }), {
    maxLength: 5,
  })
  .map((tensors) => {
    const header: Header = {};
    let offset = 0;
    for (const [i, { dtype, shape }] of tensors.entries()) {
      const end = offset + shape.reduce((a, b) => a * b, SAFETENSORS_DTYPE_BYTES[dtype]);
      header[`layer.${i}.weight`] = { dtype, shape, data_offsets: [offset, end] };
      offset = end;
    }
    return { header, dataBytes: offset };
  });

const oddNumber = fc.constantFrom(
  -1,
  -0.5,
  0,
  1,
  2,
  3,
  4,
  8,
  64,
  2 ** 31,
  2 ** 32 + 1,
  2 ** 53 - 1,
  2 ** 53,
  1e300,
  0.5,
);
const oddValue = fc.oneof(
  { weight: 4, arbitrary: oddNumber },
  { weight: 1, arbitrary: fc.constantFrom<unknown>(null, true, "2", "", [], {}, [[1]], ["F32"]) },
);

/** One edit of the parsed header: which tensor, which field, which element, and what to put there. */
const headerEdit = fc.record({
  tensor: fc.nat(7),
  field: fc.constantFrom("dtype", "shape", "data_offsets", "begin", "end", "size", "remove", "rename", "metadata"),
  index: fc.nat(3),
  value: oddValue,
  delta: fc.integer({ min: -9, max: 9 }),
});
type HeaderEdit = typeof headerEdit extends fc.Arbitrary<infer T> ? T : never;

function shift(value: unknown, edit: HeaderEdit): unknown {
  return typeof value === "number" && edit.delta !== 0 ? value + edit.delta : edit.value;
}

function applyEdit(header: Header, edit: HeaderEdit): void {
  const names = Object.keys(header);
  const name = names[edit.tensor % Math.max(names.length, 1)];
  if (edit.field === "metadata") header.__metadata__ = { note: edit.value };
  if (name === undefined || edit.field === "metadata") return;
  const tensor = header[name]!;
  const list = (key: string) => (Array.isArray(tensor[key]) ? (tensor[key] as unknown[]) : []);
  if (edit.field === "remove") delete header[name];
  else if (edit.field === "rename") header[names[edit.index % names.length]!] = tensor;
  else if (edit.field === "begin") list("data_offsets")[0] = shift(list("data_offsets")[0], edit);
  else if (edit.field === "end") list("data_offsets")[1] = shift(list("data_offsets")[1], edit);
  else if (edit.field === "size") list("shape")[edit.index] = shift(list("shape")[edit.index], edit);
  else if (edit.field === "dtype") tensor.dtype = dtypes[edit.tensor + edit.index] ?? edit.value;
  else tensor[edit.field] = edit.value;
}

/** One edit of the file's bytes. */
const byteEdit = fc.oneof(
  fc.record({ kind: fc.constant("flip" as const), at: fc.nat(), value: fc.integer({ min: 1, max: 255 }) }),
  fc.record({ kind: fc.constant("cut" as const), at: fc.nat(), value: fc.constant(0) }),
  fc.record({ kind: fc.constant("append" as const), at: fc.constant(0), value: fc.nat(20) }),
  fc.record({ kind: fc.constant("length" as const), at: fc.constant(0), value: fc.integer({ min: -12, max: 4000 }) }),
  fc.record({ kind: fc.constant("repeat" as const), at: fc.nat(), value: fc.integer({ min: 1, max: 60 }) }),
);

function applyByteEdit(bytes: Uint8Array, edit: { kind: string; at: number; value: number }): Uint8Array {
  const at = bytes.length === 0 ? 0 : edit.at % bytes.length;
  if (edit.kind === "cut") return bytes.slice(0, at);
  if (edit.kind === "append") return Uint8Array.from([...bytes, ...new Uint8Array(edit.value)]);
  if (edit.kind === "repeat") return Uint8Array.from([...bytes.slice(0, at + edit.value), ...bytes.slice(at)]);
  if (edit.kind === "flip" && bytes.length > 0) bytes[at]! ^= edit.value;
  if (edit.kind === "length" && bytes.length >= 8) {
    const view = new DataView(bytes.buffer);
    view.setBigUint64(0, view.getBigUint64(0, true) + BigInt(edit.value), true);
  }
  return bytes;
}

/** Holds what the reader accepted against a second, plain reading of the same bytes. */
function checkAccepted(file: SafetensorsFile, bytes: Uint8Array, contents: Map<string, Uint8Array>): void {
  const headerBytes = Number(new DataView(bytes.buffer).getBigUint64(0, true));
  const header = JSON.parse(Buffer.from(bytes.subarray(8, 8 + headerBytes)).toString("utf8")) as Header;
  delete header.__metadata__;
  const data = bytes.subarray(8 + headerBytes);
  const covered = new Uint8Array(data.length);
  expect([...file.entries.keys()]).toEqual(Object.keys(header));
  for (const [name, fields] of Object.entries(header)) {
    const [begin, end] = fields.data_offsets as [number, number];
    const elementBytes = SAFETENSORS_DTYPE_BYTES[fields.dtype as SafetensorsDtype];
    expect((fields.shape as number[]).reduce((a, b) => a * b, elementBytes)).toBe(end - begin);
    expect(Buffer.compare(contents.get(name)!, data.subarray(begin, end))).toBe(0);
    for (let i = begin; i < end; i++) covered[i]!++;
  }
  expect(covered.every((count) => count === 1)).toBe(true);
}

const path = folder.at("fuzz.safetensors");
/** Kept open: a file system waits for its disk when a file is opened to be written anew. */
const written = openSync(path, "w+");
const outcome = { accepted: 0, refused: 0 };

/** Opens and reads all of a file with these bytes: correct data or a typed error, and no allocation beyond its size. */
function tryFile(bytes: Uint8Array): void {
  ftruncateSync(written, bytes.length);
  writeSync(written, bytes, 0, bytes.length, 0);
  const contents = new Map<string, Uint8Array>();
  let file: SafetensorsFile | undefined;
  const largest = largestAllocation(() => {
    try {
      file = SafetensorsFile.open(path);
      for (const name of file.entries.keys()) contents.set(name, file.readBytes(name));
    } catch (error) {
      if (!isVdError(error)) throw error;
      expect(["weights", "io"]).toContain(error.code);
      expect(error.where).toContain(path);
    } finally {
      file?.close();
    }
  });
  expect(largest).toBeLessThanOrEqual(bytes.length);
  // The count sees what it should: a tensor's own bytes at least.
  for (const content of contents.values()) expect(largest).toBeGreaterThanOrEqual(content.length);
  if (file === undefined) outcome.refused++;
  else outcome.accepted++;
  if (file !== undefined) checkAccepted(file, bytes, contents);
}

test("10,000 files with edited headers and bytes give correct data or a typed error", () => {
  const edits = fc.record({
    base: validHeader,
    headerEdits: fc.array(headerEdit, { maxLength: 2 }),
    byteEdits: fc.array(byteEdit, { maxLength: 2 }),
  });
  fc.assert(
    fc.property(edits, ({ base: { header, dataBytes }, headerEdits, byteEdits }) => {
      const edited = structuredClone(header);
      for (const edit of headerEdits) applyEdit(edited, edit);
      tryFile(byteEdits.reduce(applyByteEdit, fileBytes(edited, dataBytes)));
    }),
    { seed: 20261, numRuns: 10_000 },
  );
  // Both outcomes must be common, or the test would show nothing.
  expect(outcome.accepted).toBeGreaterThan(1_000);
  expect(outcome.refused).toBeGreaterThan(4_000);
});

test("every truncation of a valid file is refused", () => {
  const header = {
    a: { dtype: "F16", shape: [3, 2], data_offsets: [0, 12] },
    b: { dtype: "U8", shape: [5], data_offsets: [12, 17] },
  };
  const bytes = fileBytes(header, 17);
  const before = outcome.refused;
  for (let length = 0; length < bytes.length; length++) tryFile(bytes.slice(0, length));
  expect(outcome.refused - before).toBe(bytes.length);
});

test("1,000 files of noise are refused", () => {
  const before = outcome.refused;
  fc.assert(fc.property(fc.uint8Array({ maxLength: 200 }), tryFile), { seed: 20262, numRuns: 1_000 });
  expect(outcome.refused - before).toBe(1_000);
});
