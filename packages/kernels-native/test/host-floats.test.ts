import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { allocateBuffer, allocateFloats, largestMagnitude, sharedFloats, touchFloats } from "../src/index";

/** More than one block of reading, with a rest that fills no vector. */
const MANY = (9 << 20) / 2 + 5;

const numbers = (count: number): Float32Array =>
  Float32Array.from({ length: count }, (_, i) => ((i * 2654435761) % 4001) / 17 - 100 + (i % 7) * 1e-6);

/** Rounds to nearest even. */
function whole(x: number): number {
  const below = Math.floor(x);
  const rest = x - below;
  return rest > 0.5 || (rest === 0.5 && below % 2 !== 0) ? below + 1 : below;
}

/** A number with so many bits behind the leading one, and exponents from `least` to `most`. */
function rounded(x: number, [bits, least, most]: readonly [number, number, number]): number {
  if (!Number.isFinite(x) || x === 0) return x;
  const exponent = Math.max(Math.floor(Math.log2(Math.abs(x))), least);
  const step = 2 ** (exponent - bits);
  const result = whole(Math.abs(x) / step) * step;
  return Math.sign(x) * (result >= 2 ** (most + 1) ? Infinity : result);
}

const roundTrips = {
  f16: (values: Float32Array) => values.map((x) => rounded(x, [10, -14, 15])),
  bf16: (values: Float32Array) => values.map((x) => rounded(x, [7, -126, 127])),
  f32: (values: Float32Array) => values,
} as const;
const BYTES = { f16: 2, bf16: 2, f32: 4 } as const;

/** Any float32, and those at which rounding changes its ways. */
const anyFloat = fc.oneof(
  fc.float({ noNaN: false }),
  fc.constantFrom(
    65519,
    65520,
    2 ** -24,
    2 ** -25,
    1.5 * 2 ** -25,
    6.1e-5,
    -0,
    3.39e38,
    1 + 2 ** -11,
    1 + 3 * 2 ** -11,
  ),
);

describe.each(["f16", "bf16", "f32"] as const)("floats stored as %s", (dtype) => {
  test("are rounded as on the host, and read back, by any count and address", async () => {
    const check = async (list: number[], lead: number) => {
      const values = Float32Array.from(list);
      const buffer = allocateBuffer(64 + 4 * values.length);
      await buffer.writeFloats(values, dtype, lead * BYTES[dtype]);
      const region = { byteOffset: lead * BYTES[dtype], dtype, pixels: values.length, channels: 1 };
      const read = await buffer.readCheckedFloats(region);
      const first = values.findIndex((value, i) => !Number.isFinite(roundTrips[dtype](values)[i] ?? value));
      expect(read.values).toEqual(roundTrips[dtype](values));
      expect(read.firstNotFinite ?? -1).toBe(first);
      expect(await buffer.readFloats(region)).toEqual(read.values);
    };
    await fc.assert(fc.asyncProperty(fc.array(anyFloat, { minLength: 1, maxLength: 70 }), fc.nat(7), check), {
      seed: 5,
      numRuns: 150,
    });
  });

  test("are read in blocks, on several threads, with the first that is not finite", async () => {
    const values = numbers(MANY);
    const buffer = allocateBuffer(4 * MANY);
    await buffer.writeFloats(sharedFloats(MANY), dtype);
    const shared = sharedFloats(MANY);
    shared.set(values);
    await buffer.writeFloats(shared, dtype);
    const all = { dtype, pixels: MANY, channels: 1 };
    const read = await buffer.readCheckedFloats(all);
    expect(read.firstNotFinite).toBeUndefined();
    expect(Buffer.compare(new Uint8Array(read.values.buffer), new Uint8Array(roundTrips[dtype](values).buffer))).toBe(
      0,
    );
    const wrong = [MANY - 1, MANY - 3, (4 << 20) + 1];
    for (const at of wrong)
      await buffer.writeFloats(Float32Array.of(at % 2 ? Number.NaN : -Infinity), dtype, at * BYTES[dtype]);
    expect((await buffer.readCheckedFloats(all)).firstNotFinite).toBe(Math.min(...wrong));
  });

  test("are packed where pixels lie apart, and what lies between them is not looked at", async () => {
    const buffer = allocateBuffer(4 * 4 * 1000);
    const values = numbers(4 * 1000);
    values.forEach((_, i) => {
      if (i % 4 === 3) values[i] = Number.NaN;
    });
    await buffer.writeFloats(values, dtype);
    const region = { dtype, pixels: 1000, channels: 3, pitch: 4 };
    const read = await buffer.readCheckedFloats(region);
    expect(read.firstNotFinite).toBeUndefined();
    expect(read.values).toEqual(roundTrips[dtype](values).filter((_, i) => i % 4 < 3));
    await buffer.writeFloats(Float32Array.of(Infinity), dtype, (4 * 700 + 2) * BYTES[dtype]);
    expect((await buffer.readCheckedFloats(region)).firstNotFinite).toBe(3 * 700 + 2);
  });
});

test("pixels are read as planes, also where they lie apart", async () => {
  const [frames, channels, area, pitch] = [3, 4, 2500, 5];
  const values = numbers(frames * area * pitch);
  const buffer = allocateBuffer(4 * values.length);
  await buffer.writeFloats(values, "f32");
  const region = { dtype: "f32", pixels: frames * area, channels, pitch, planePixels: area } as const;
  const wanted = Float32Array.from({ length: frames * channels * area }, (_, i) => {
    const [plane, pixel] = [Math.floor(i / area), i % area];
    return values[(Math.floor(plane / channels) * area + pixel) * pitch + (plane % channels)]!;
  });
  const into = sharedFloats(wanted.length);
  const read = await buffer.readCheckedFloats(region, into);
  expect(read.values).toBe(into);
  expect(read.firstNotFinite).toBeUndefined();
  expect(Float32Array.from(into)).toEqual(wanted);
  // Of channel 1, pixel 7 in the second frame.
  await buffer.writeFloats(Float32Array.of(Number.NaN), "f32", 4 * ((area + 7) * pitch + 1));
  const { firstNotFinite } = await buffer.readCheckedFloats(region);
  expect(firstNotFinite).toBe((channels + 1) * area + 7);
  await expect(buffer.readFloats({ ...region, planePixels: area + 1 })).rejects.toMatchObject({ code: "layout" });
});

describe("writeFloats", () => {
  test("refuses other arrays, other types and places outside of the buffer", async () => {
    const buffer = allocateBuffer(8);
    await expect(buffer.writeFloats(new Float64Array(1) as never, "f16")).rejects.toMatchObject({ code: "attr" });
    await expect(buffer.writeFloats(new Float32Array(1), "i8")).rejects.toMatchObject({ code: "dtype" });
    await expect(buffer.writeFloats(new Float32Array(4), "f16", 2)).rejects.toMatchObject({ code: "layout" });
  });

  test("takes what the array held when it was called", async () => {
    const buffer = allocateBuffer(8);
    const values = Float32Array.of(1, 2);
    const written = buffer.writeFloats(values, "f32");
    values.fill(9);
    await written;
    expect(await buffer.readFloats({ dtype: "f32", pixels: 2, channels: 1 })).toEqual(Float32Array.of(1, 2));
  });
});

describe("writeCheckedFloats", () => {
  test.each(["f16", "bf16", "f32"] as const)("tells the largest magnitude before rounding, as %s", async (dtype) => {
    const buffer = allocateBuffer(4 * MANY);
    const values = numbers(MANY);
    for (const source of [new Float32Array(MANY), sharedFloats(MANY)]) {
      source.set(values);
      expect(await buffer.writeCheckedFloats(source, dtype)).toBe(largestMagnitude(values));
      for (const at of [0, MANY - 1]) {
        source[at] = -Infinity;
        expect(await buffer.writeCheckedFloats(source, dtype)).toBe(Infinity);
        source[at] = Number.NaN;
        expect(await buffer.writeCheckedFloats(source, dtype)).toBeNaN();
        source[at] = values[at]!;
      }
    }
    expect(await buffer.writeCheckedFloats(new Float32Array(0), dtype)).toBe(0);
  });
});

describe("arrays that are read into", () => {
  const COUNT = 3_000_001;
  const values = numbers(COUNT);
  const region = { dtype: "f16", pixels: COUNT, channels: 1 } as const;
  const rounded16 = roundTrips.f16(values);
  const filled = async () => {
    const buffer = allocateBuffer(2 * COUNT);
    await buffer.writeFloats(values, "f16");
    return buffer;
  };
  const KINDS: [name: string, make: (count: number) => Float32Array][] = [
    ["of allocateFloats", allocateFloats],
    ["of shared memory", sharedFloats],
    ["of JavaScript's", (count) => new Float32Array(count)],
  ];

  test.each(KINDS)("get the numbers and nothing beside them: %s", async (_, make) => {
    const buffer = await filled();
    const whole = make(COUNT + 3);
    const into = whole.subarray(1, COUNT + 1);
    const read = await buffer.readCheckedFloats(region, into);
    expect(read.values).toBe(into);
    expect(Buffer.compare(new Uint8Array(into.slice().buffer), new Uint8Array(rounded16.buffer))).toBe(0);
    expect([whole[0], ...whole.subarray(COUNT + 1)]).toEqual([0, 0, 0]);
    expect(read.firstNotFinite).toBeUndefined();
    await buffer.writeFloats(Float32Array.of(Number.NaN), "f16", 2 * 7);
    expect((await buffer.readCheckedFloats(region, into)).firstNotFinite).toBe(7);
  });

  test.each(KINDS)("take parts beside each other, in any order: %s", async (_, make) => {
    const buffer = await filled();
    const whole = make(COUNT);
    const ends = [1_000, 1_001, 2_000_000, COUNT];
    const reads = ends.map((end, i) => {
      const begin = ends[i - 1] ?? 0;
      const part = { dtype: "f16", byteOffset: 2 * begin, pixels: end - begin, channels: 1 } as const;
      return buffer.readCheckedFloats(part, whole.subarray(begin, end));
    });
    await Promise.all([...reads.reverse(), touchFloats(whole)]);
    expect(Buffer.compare(new Uint8Array(whole.slice().buffer), new Uint8Array(rounded16.buffer))).toBe(0);
  });

  test("hold their memory until it is read, whatever becomes of them", async () => {
    const buffer = await filled();
    const reads = Array.from({ length: 4 }, () => buffer.readCheckedFloats(region, allocateFloats(COUNT)));
    globalThis.gc?.();
    for (const read of await Promise.all(reads)) expect(read.values.at(-1)).toBe(rounded16.at(-1));
  });

  test("are refused where they have another length or type, and where they are taken away", async () => {
    const buffer = await filled();
    const wrong: [into: unknown, code: string][] = [
      [allocateFloats(COUNT - 1), "shape"],
      [new Float32Array(COUNT + 1), "shape"],
      [new Float64Array(COUNT), "attr"],
      [null, "attr"],
      [7, "attr"],
    ];
    for (const [into, code] of wrong)
      await expect(buffer.readCheckedFloats(region, into as never)).rejects.toMatchObject({ code });
    const into = allocateFloats(COUNT);
    const outside = { ...region, byteOffset: 2 };
    await expect(buffer.readCheckedFloats(outside, into)).rejects.toMatchObject({ code: "layout" });
    expect(into.every((value) => value === 0)).toBe(true);
    const taken = new Float32Array(COUNT);
    const read = buffer.readCheckedFloats(region, taken);
    structuredClone(taken.buffer, { transfer: [taken.buffer] });
    await expect(read).rejects.toMatchObject({ code: "layout", message: expect.stringContaining("that it had") });
    await expect(buffer.readCheckedFloats(region, taken)).rejects.toMatchObject({ code: "shape" });
  });

  test("cannot be larger than any array, and may be empty", async () => {
    for (const count of [-1, 1.5, 2 ** 32, "7" as never])
      expect(() => allocateFloats(count)).toThrow(expect.objectContaining({ code: "attr" }));
    expect(allocateFloats(0)).toEqual(new Float32Array(0));
    await touchFloats(allocateFloats(0));
  });

  test("keep their numbers when they are touched", async () => {
    for (const [, make] of KINDS) {
      const touched = make(5_000_000);
      touched.set([1, 2], 2_000_000);
      await touchFloats(touched.subarray(1));
      expect([...touched.subarray(1_999_999, 2_000_003)]).toEqual([0, 1, 2, 0]);
    }
    await expect(touchFloats([1] as never)).rejects.toMatchObject({ code: "attr" });
  });

  test.each(KINDS)("get bytes as they are stored, too: %s", async (_, make) => {
    const buffer = await filled();
    const stored = await buffer.readBytes(0, 2 * COUNT);
    const whole = new Uint8Array(make(COUNT).buffer as ArrayBuffer);
    const into = whole.subarray(3, 3 + 2 * COUNT);
    const reading = buffer.readBytes(0, 2 * COUNT, into);
    await touchFloats(new Float32Array(whole.buffer));
    expect(await reading).toBe(into);
    expect(Buffer.compare(into, stored)).toBe(0);
    expect([...whole.subarray(0, 3), ...whole.subarray(3 + 2 * COUNT, 8 + 2 * COUNT)]).toEqual(Array(8).fill(0));
  });

  test("of bytes are refused where they have another length or type, and where they are taken away", async () => {
    const buffer = allocateBuffer(16);
    const wrong: [into: unknown, code: string][] = [
      [new Uint8Array(7), "shape"],
      [new Uint8Array(9), "shape"],
      [new Int8Array(8), "attr"],
      [new ArrayBuffer(8), "attr"],
      [null, "attr"],
    ];
    for (const [into, code] of wrong)
      await expect(buffer.readBytes(0, 8, into as never)).rejects.toMatchObject({ code });
    await expect(buffer.readBytes(9, 8, new Uint8Array(8))).rejects.toMatchObject({ code: "layout" });
    expect(await buffer.readBytes(16, 0, new Uint8Array())).toEqual(new Uint8Array());
    const taken = new Uint8Array(16);
    const read = buffer.readBytes(0, 16, taken);
    structuredClone(taken.buffer, { transfer: [taken.buffer] });
    const message = expect.stringContaining("the 16 bytes that it had");
    await expect(read).rejects.toMatchObject({ code: "layout", message });
  });

  test("get pixels that lie further apart than a block", async () => {
    const pitch = 3_000_000;
    const buffer = allocateBuffer(4 * (2 * pitch + 5));
    for (const i of [0, 1, 2]) await buffer.writeFloats(Float32Array.of(i, i, i, i, i), "f32", 4 * i * pitch);
    await buffer.writeFloats(Float32Array.of(Number.NaN), "f32", 4 * (2 * pitch + 3));
    const read = await buffer.readCheckedFloats({ dtype: "f32", pixels: 3, channels: 5, pitch });
    expect(read).toEqual({
      values: Float32Array.of(0, 0, 0, 0, 0, 1, 1, 1, 1, 1, 2, 2, 2, Number.NaN, 2),
      firstNotFinite: 13,
    });
  });
});

describe("largestMagnitude", () => {
  test("is that of the numbers, NaN where one is, and 0 of none", () => {
    fc.assert(
      fc.property(fc.array(fc.float({ noNaN: true }), { maxLength: 70 }), (list) => {
        expect(largestMagnitude(Float32Array.from(list))).toBe(
          Math.max(0, ...list.map((x) => Math.abs(Math.fround(x)))),
        );
      }),
      { seed: 5 },
    );
    for (const at of [0, 15, 16, 40]) {
      const values = new Float32Array(41).fill(Infinity);
      values[at] = Number.NaN;
      expect(largestMagnitude(values)).toBeNaN();
    }
    expect(() => largestMagnitude([1] as never)).toThrow(/expected a Float32Array, got an object/);
  });
});
