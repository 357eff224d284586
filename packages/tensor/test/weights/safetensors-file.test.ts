import { mkdirSync, readFileSync, truncateSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { afterAll, describe, expect, test } from "vitest";
import { SafetensorsFile } from "../../src/weights/safetensors";
import { Folder, fileBytes, largestAllocation, vdErrorOf } from "./raw-file";

const folder = new Folder();
afterAll(() => folder.remove());

const fixture = fileURLToPath(new URL("../../../../fixtures/tiny-svd/goldens.safetensors", import.meta.url));

function openBytes(bytes: Uint8Array): SafetensorsFile {
  return SafetensorsFile.open(folder.write("file.safetensors", bytes));
}

/** A file with one tensor `t` of this type over these elements. */
function oneTensor(dtype: string, elements: ArrayBufferView): SafetensorsFile {
  const data = new Uint8Array(elements.buffer, elements.byteOffset, elements.byteLength);
  const size = { F64: 8, I64: 8, U64: 8, F32: 4, I32: 4, U32: 4, F16: 2, BF16: 2, I16: 2, U16: 2 }[dtype] ?? 1;
  return openBytes(fileBytes({ t: { dtype, shape: [data.length / size], data_offsets: [0, data.length] } }, data));
}

const entry = (over: object) => ({ t: { dtype: "F32", shape: [2], data_offsets: [0, 8], ...over } });

describe("reading", () => {
  test("a fixture's tensors are the bytes at the offsets that its header gives", () => {
    using file = SafetensorsFile.open(fixture);
    const whole = readFileSync(fixture);
    expect(file.entries.size).toBe(49);
    expect(file.entry("unet.first.timestep")).toMatchObject({ dtype: "F32", shape: [], byteLength: 4 });
    for (const [name, { byteOffset, byteLength }] of file.entries) {
      expect(Buffer.compare(file.readBytes(name), whole.subarray(byteOffset, byteOffset + byteLength))).toBe(0);
    }
    expect(file.readFloat64("unet.first.timestep")[0]).toBeCloseTo(0.25 * Math.log(700), 3);
  });

  test("every element type converts to its values", () => {
    const check = (dtype: string, elements: ArrayBufferView, values: number[]) => {
      using file = oneTensor(dtype, elements);
      expect([...file.readFloat32("t")], dtype).toEqual(values);
      expect([...file.readFloat64("t")], dtype).toEqual(values);
    };
    check("F64", Float64Array.of(1.5, -2), [1.5, -2]);
    check("F32", Float32Array.of(0.5, -0.25), [0.5, -0.25]);
    check("F16", Uint16Array.of(0x3c00, 0xc000, 0x0001, 0x7c00), [1, -2, 2 ** -24, Number.POSITIVE_INFINITY]);
    check("BF16", Uint16Array.of(0x3f80, 0xc040, 0xff80), [1, -3, Number.NEGATIVE_INFINITY]);
    check("F8_E4M3", Uint8Array.of(0x38, 0xb8, 0x7e, 0x01, 0x7f), [1, -1, 448, 2 ** -9, Number.NaN]);
    check("F8_E5M2", Uint8Array.of(0x3c, 0x7b, 0x7c, 0x01), [1, 57344, Number.POSITIVE_INFINITY, 2 ** -16]);
    check("I64", BigInt64Array.of(-5n, 7n), [-5, 7]);
    check("U64", BigUint64Array.of(2n ** 53n), [2 ** 53]);
    check("I32", Int32Array.of(-(2 ** 31)), [-(2 ** 31)]);
    check("U32", Uint32Array.of(2 ** 31), [2 ** 31]);
    check("I16", Int16Array.of(-300), [-300]);
    check("U16", Uint16Array.of(65535), [65535]);
    check("I8", Int8Array.of(-128), [-128]);
    check("U8", Uint8Array.of(255), [255]);
    check("BOOL", Uint8Array.of(0, 1, 2), [0, 1, 1]);
  });

  test("float64 refuses an integer that it cannot hold", () => {
    using file = oneTensor("I64", BigInt64Array.of(-(2n ** 53n) - 1n));
    expect(vdErrorOf(() => file.readFloat64("t"))).toMatchObject({ code: "dtype", got: "-9007199254740993" });
  });

  test("scalars, empty tensors, empty files of tensors, padding and metadata are valid", () => {
    using file = openBytes(
      fileBytes(
        `${JSON.stringify({
          __metadata__: { format: "pt", __proto__x: "y" },
          none: { dtype: "F32", shape: [0, 9007199254740991], data_offsets: [4, 4] },
          one: { dtype: "F32", shape: [], data_offsets: [0, 4] },
        })}     `,
        4,
      ),
    );
    expect(file.metadata).toEqual({ format: "pt", __proto__x: "y" });
    expect(file.readFloat32("none")).toHaveLength(0);
    expect(file.readBytes("one")).toHaveLength(4);
    expect(openBytes(fileBytes({})).entries.size).toBe(0);
  });

  test("a tensor may have a name that objects inherit", () => {
    const header =
      '{"__proto__":{"dtype":"U8","shape":[1],"data_offsets":[0,1]},"toString":{"dtype":"U8","shape":[1],"data_offsets":[1,2]}}';
    using file = openBytes(fileBytes(header, Uint8Array.of(3, 4)));
    expect([...file.readBytes("__proto__"), ...file.readBytes("toString")]).toEqual([3, 4]);
    expect(vdErrorOf(() => file.entry("constructor")).code).toBe("weights");
  });
});

describe("a header of many small values", () => {
  const tensors = (count: number) => {
    const one = (_: unknown, i: number) => [`t${i}`, { dtype: "U8", shape: [0], data_offsets: [0, 0] }];
    return Object.fromEntries(Array.from({ length: count }, one));
  };

  /** Opens the file piece by piece; the tensors found, and how many bytes of the header there are per piece. */
  function piecesOf(header: string): { size: number; bytesPerPiece: number } {
    const work = SafetensorsFile.open.inPieces(folder.write("many.safetensors", fileBytes(header)));
    let numPieces = 0;
    let next = work.next();
    for (; !next.done; next = work.next()) numPieces++;
    next.value.close();
    return { size: next.value.entries.size, bytesPerPiece: header.length / numPieces };
  }

  test("is read in small pieces, be it tensors, metadata or padding", () => {
    const cases = [
      [JSON.stringify(tensors(5_000)), 5_000],
      [JSON.stringify({ __metadata__: Object.fromEntries(Array.from({ length: 20_000 }, (_, i) => [i, "x"])) }), 0],
      [`{}${" ".repeat(2_000_000)}`, 0],
      [JSON.stringify({ __metadata__: { picture: "\\".repeat(1_000_000) } }), 0],
    ] as const;
    for (const [header, size] of cases) {
      const found = piecesOf(header);
      expect(found.size).toBe(size);
      expect(found.bytesPerPiece).toBeLessThan(2 ** 16);
    }
  });
});

describe("faults", () => {
  const refuses = (title: string, bytes: Uint8Array, where: string, words: RegExp) =>
    test(title, () => {
      const error = vdErrorOf(() => openBytes(bytes));
      expect(error.code).toBe("weights");
      expect(error.where.endsWith(where)).toBe(true);
      expect(error.where).toContain(folder.path);
      expect(error.message).toMatch(words);
    });
  const file = "file.safetensors";
  const tensor = "file.safetensors: t";

  refuses("an empty file", new Uint8Array(0), file, /an empty file/);
  refuses("less than a length", new Uint8Array(7), file, /7 bytes/);
  refuses("a header longer than the file", fileBytes({}, 0, 3n), file, /at most 2 bytes, got a header length of 3/);
  refuses("a header of 2^64-1 bytes", fileBytes({}, 0, 2n ** 64n - 1n), file, /18446744073709551615/);
  refuses("a Git LFS pointer", new TextEncoder().encode("version https://git-lfs.github.com/spec/v1"), file, /LFS/);
  refuses("no header", new Uint8Array(8), file, /starts with \{/);
  refuses("bytes that are not UTF-8", Uint8Array.of(4, 0, 0, 0, 0, 0, 0, 0, 123, 255, 254, 125), file, /UTF-8/);
  refuses("text that is not JSON", fileBytes("{nonsense}"), file, /header in JSON/);
  refuses("a list", fileBytes("[]"), file, /starts with \{/);
  refuses("nesting without end", fileBytes(`{"t":${"[".repeat(100_000)}`), file, /header in JSON/);
  refuses(
    "deep nesting",
    fileBytes(`{"t":${"[".repeat(50_000)}${"]".repeat(50_000)}}`),
    file,
    /in JSON of at most 3 levels/,
  );
  refuses("a shape of many sizes", fileBytes(entry({ shape: Array(40_000).fill(1) }), 8), file, /at most 65536 bytes/);
  refuses("a comma too many", fileBytes('{"t":{},}'), tensor, /dtype/);
  refuses("a comma too few", fileBytes('{"a":{"dtype":"U8","shape":[0],"data_offsets":[0,0]}"b":{}}'), file, /a comma/);
  refuses("a bracket too many", fileBytes('{"t":{}]}'), tensor, /dtype/);
  refuses(
    "an object without end",
    fileBytes('{"t":{"dtype":"U8"'),
    file,
    /its end at byte 18 instead of a whole value/,
  );
  refuses("text after the object", fileBytes("{} x"), file, /"x" at byte 3 instead of nothing after the object/);
  refuses(
    "a key twice",
    fileBytes('{"t":{"dtype":"U8","shape":[0],"data_offsets":[0,0]},"\\u0074":{}}'),
    tensor,
    /the key twice/,
  );
  refuses("a field twice", fileBytes('{"t":{"dtype":"U8","dtype":"U8"}}'), "file.safetensors: dtype", /twice/);
  refuses("an unknown dtype", fileBytes(entry({ dtype: "F4" }), 8), tensor, /one of F64.* got "F4"/);
  refuses("an inherited dtype", fileBytes(entry({ dtype: "constructor" }), 8), tensor, /got "constructor"/);
  refuses("a missing dtype", fileBytes(entry({ dtype: undefined }), 8), tensor, /got nothing/);
  refuses("a null tensor", fileBytes({ t: null }), tensor, /got null/);
  refuses("a shape of strings", fileBytes(entry({ shape: ["2"] }), 8), tensor, /shape/);
  refuses("a negative size", fileBytes(entry({ shape: [-2] }), 8), tensor, /shape .* got \[-2\]/);
  refuses("a fractional size", fileBytes(entry({ shape: [0.5] }), 8), tensor, /got \[0.5\]/);
  refuses("a size beyond 2^53", fileBytes(entry({ shape: [2 ** 53] }), 8), tensor, /shape/);
  refuses("a product beyond 2^53", fileBytes(entry({ shape: [2 ** 40, 2 ** 40] }), 8), tensor, /more bytes than/);
  refuses("a shape of other size", fileBytes(entry({ shape: [3] }), 8), tensor, /12 bytes for F32 \[3\], got 8 bytes/);
  refuses("one offset", fileBytes(entry({ data_offsets: [0] }), 8), tensor, /two whole numbers/);
  refuses("a negative offset", fileBytes(entry({ data_offsets: [-8, 0] }), 8), tensor, /two whole numbers/);
  refuses("offsets backwards", fileBytes(entry({ data_offsets: [8, 0] }), 8), tensor, /ascending/);
  refuses("data cut off", fileBytes(entry({}), 7), tensor, /the file's 7 data bytes, got data to byte 8/);
  refuses("data left over", fileBytes(entry({}), 9), file, /header describes, got \d+ bytes/);
  refuses("metadata of numbers", fileBytes({ __metadata__: { a: 1 } }), "__metadata__", /a string for "a", got 1/);
  refuses("metadata as a list", fileBytes({ __metadata__: [] }), "__metadata__", /object of strings/);
  refuses("metadata twice", fileBytes('{"__metadata__":{},"__metadata__":{}}'), "__metadata__", /the key twice/);
  const pair = (second: number[], size: number) =>
    fileBytes(
      { a: { dtype: "U8", shape: [4], data_offsets: [0, 4] }, t: { dtype: "U8", shape: [4], data_offsets: second } },
      size,
    );
  refuses("overlapping tensors", pair([2, 6], 6), tensor, /overlapping data from byte 2/);
  refuses("the same data twice", pair([0, 4], 4), tensor, /overlapping/);
  refuses("a gap", pair([5, 9], 9), tensor, /gap before data from byte 5/);
  refuses(
    "a name with control characters is shown escaped",
    fileBytes({ "\u001b[2J\n": 1 }),
    "file.safetensors: \\u001b[2J\\n",
    /got 1/,
  );

  test("more texts of metadata than any file has are refused before they are all read", () => {
    const texts = Object.fromEntries(Array.from({ length: 66_000 }, (_, i) => [`${i}`, ""]));
    const error = vdErrorOf(() => openBytes(fileBytes({ __metadata__: texts })));
    expect(error).toMatchObject({ code: "weights", expected: "a header of at most 65536 members" });
  });

  test("missing files and folders are io errors", () => {
    const missing = vdErrorOf(() => SafetensorsFile.open(folder.at("none.safetensors")));
    expect(missing).toMatchObject({ code: "io", got: "no such file or folder" });
    mkdirSync(folder.at("sub"));
    expect(vdErrorOf(() => SafetensorsFile.open(folder.at("sub")))).toMatchObject({ code: "io", got: "a folder" });
    expect(vdErrorOf(() => SafetensorsFile.open("nul\0byte")).code).toBe("io");
  });

  test("a file that shrinks after it was opened is an io error, found before anything is allocated", () => {
    using file = openBytes(fileBytes(entry({}), 8));
    truncateSync(file.path, file.fileBytes - 1);
    const largest = largestAllocation(() => {
      expect(vdErrorOf(() => file.readFloat32("t"))).toMatchObject({ code: "io" });
    });
    expect(largest).toBe(0);
  });

  test("a closed file says so, and closing twice is fine", () => {
    const file = openBytes(fileBytes(entry({}), 8));
    file.close();
    file.close();
    expect(vdErrorOf(() => file.readBytes("t"))).toMatchObject({ code: "io", got: "one that was closed" });
  });

  test("a missing tensor is answered with the nearest names", () => {
    using file = SafetensorsFile.open(fixture);
    const error = vdErrorOf(() => file.readBytes("trace.midblock"));
    expect(error.code).toBe("weights");
    expect(error.hint).toMatch(/^Nearest names: trace\.mid_block,/);
  });
});
