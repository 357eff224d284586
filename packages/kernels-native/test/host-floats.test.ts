import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { allocateBuffer, largestMagnitude, sharedFloats } from "../src/index";

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
