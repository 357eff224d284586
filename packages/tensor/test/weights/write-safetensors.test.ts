import { mkdirSync, readdirSync, readFileSync } from "node:fs";
import * as fc from "fast-check";
import { afterAll, expect, test } from "vitest";
import {
  SAFETENSORS_DTYPE_BYTES,
  type SafetensorsDtype,
  SafetensorsFile,
  type TensorToWrite,
  writeSafetensors,
} from "../../src/weights/safetensors";
import { Folder, vdErrorOf } from "./raw-file";

const folder = new Folder();
afterAll(() => folder.remove());
const path = folder.at("written.safetensors");
const dtypes = Object.keys(SAFETENSORS_DTYPE_BYTES) as SafetensorsDtype[];

test("what is written is read again, with every tensor aligned to its elements", () => {
  const tensor = fc.record({
    name: fc.string({ unit: "grapheme", maxLength: 12 }).filter((name) => name !== "__metadata__"),
    dtype: fc.constantFrom(...dtypes),
    shape: fc.array(fc.nat(4), { maxLength: 3 }),
  });
  const tensors = fc.uniqueArray(tensor, { selector: ({ name }) => name, maxLength: 6 });
  const metadata = fc.dictionary(fc.string({ maxLength: 5 }), fc.string({ maxLength: 5 }), { maxKeys: 3 });
  const roundTrip = fc.property(tensors, metadata, (described, notes) => {
    const made: TensorToWrite[] = described.map(({ name, dtype, shape }, i) => {
      const size = shape.reduce((a, b) => a * b, SAFETENSORS_DTYPE_BYTES[dtype]);
      return { name, dtype, shape, data: Uint8Array.from({ length: size }, (_, j) => i * 31 + j) };
    });
    writeSafetensors(path, made, notes);
    using file = SafetensorsFile.open(path);
    expect({ ...file.metadata }).toEqual({ ...notes });
    expect(file.entries.size).toBe(made.length);
    for (const { name, dtype, shape, data } of made) {
      const entry = file.entry(name);
      expect(entry).toMatchObject({ dtype, shape });
      expect(entry.byteOffset % SAFETENSORS_DTYPE_BYTES[dtype]).toBe(0);
      expect(file.readBytes(name)).toEqual(data);
    }
  });
  fc.assert(roundTrip, { seed: 20263, numRuns: 300 });
});

test("typed arrays, views into larger buffers and functions carry data", () => {
  const view = new Float32Array(new Float32Array([9, 1, 2, 9]).buffer, 4, 2);
  writeSafetensors(path, [
    { name: "view", dtype: "F32", shape: [2], data: view },
    { name: "late", dtype: "I64", shape: [1], data: () => BigInt64Array.of(-3n) },
    { name: "half", dtype: "BF16", shape: [1], data: Uint16Array.of(0x3f80) },
  ]);
  using file = SafetensorsFile.open(path);
  expect([...file.readFloat32("view"), ...file.readFloat32("late"), ...file.readFloat32("half")]).toEqual([
    1, 2, -3, 1,
  ]);
});

test("the header is padded to 8 bytes and starts with its length", () => {
  writeSafetensors(path, [{ name: "t", dtype: "U8", shape: [3], data: Uint8Array.of(1, 2, 3) }]);
  const bytes = readFileSync(path);
  const headerBytes = Number(bytes.readBigUInt64LE(0));
  expect(headerBytes % 8).toBe(0);
  expect(bytes.length).toBe(8 + headerBytes + 3);
});

test("refusals and failures leave neither a file nor a temporary one", () => {
  const target = folder.at("refused/out.safetensors");
  mkdirSync(folder.at("refused"));
  const tensor = (over: Partial<TensorToWrite>): TensorToWrite[] => [
    { name: "t", dtype: "F32", shape: [1], data: Float32Array.of(1), ...over },
  ];
  const refusal = (tensors: TensorToWrite[]) => vdErrorOf(() => writeSafetensors(target, tensors));
  expect(refusal(tensor({ shape: [2] }))).toMatchObject({ code: "shape", expected: "8 bytes for F32 [2]" });
  expect(refusal(tensor({ shape: [-1] })).code).toBe("shape");
  expect(refusal(tensor({ dtype: "F16" }))).toMatchObject({ code: "dtype", got: "Float32Array" });
  expect(refusal(tensor({ dtype: "Q4" as SafetensorsDtype })).code).toBe("dtype");
  expect(refusal([...tensor({}), ...tensor({})])).toMatchObject({ code: "weights", got: "one that is taken" });
  expect(refusal(tensor({ name: "__metadata__" })).code).toBe("weights");
  for (const odd of [undefined, null, 5])
    expect(refusal(odd as never)).toMatchObject({ code: "attr", where: "tensors" });
  expect(vdErrorOf(() => writeSafetensors(undefined as never, tensor({})))).toMatchObject({
    code: "attr",
    where: "path",
  });
  const broken = () => {
    throw new TypeError("the caller's own");
  };
  expect(() => writeSafetensors(target, tensor({ data: broken }))).toThrow(TypeError);
  expect(vdErrorOf(() => writeSafetensors(folder.at("none/out.safetensors"), tensor({})))).toMatchObject({
    code: "io",
  });
  mkdirSync(target);
  expect(refusal(tensor({})).code).toBe("io");
  expect(readdirSync(folder.at("refused"))).toEqual(["out.safetensors"]);
});
