import { describe, expect, test } from "vitest";
import { allocateBuffer, fillNormals, mersenneDraws, sharedFloats } from "../src/index";

const WORDS = 624;
const isas = ["plain", "neon", "avx2", "avx512", "amx"];

/** Undoes `word ^ (word >>> shift)`, or with a mask `word ^ ((word << shift) & mask)`. */
function undoRight(word: number, shift: number): number {
  let result = word;
  for (let i = 0; i < 32; i += shift) result = word ^ (result >>> shift);
  return result;
}
function undoLeft(word: number, shift: number, mask: number): number {
  let result = word;
  for (let i = 0; i < 32; i += shift) result = word ^ ((result << shift) & mask);
  return result;
}

/** A state of the Mersenne Twister whose next draws are `draws`, 624 of them at most. */
function stateThatDraws(draws: ArrayLike<number>): Uint32Array {
  const state = new Uint32Array(WORDS + 1);
  for (let i = 0; i < draws.length; i++) {
    const word = undoLeft(undoRight(draws[i]!, 18), 15, 0xefc6_0000);
    state[i] = undoRight(undoLeft(word, 7, 0x9d2c_5680), 11);
  }
  return state;
}

/** Box and Muller's transform of one block of 24-bit draws, by the engine's own functions. */
function normalsOf(draws: readonly number[]): Float32Array {
  const { fround } = Math;
  const result = new Float32Array(16);
  for (let i = 0; i < 8; i++) {
    const radius = fround(Math.sqrt(fround(-2 * fround(Math.log(1 - draws[i]! / 2 ** 24)))));
    const angle = fround(fround(2 * Math.PI) * fround(draws[i + 8]! / 2 ** 24));
    result[i] = radius * fround(Math.cos(angle));
    result[i + 8] = radius * fround(Math.sin(angle));
  }
  return result;
}

const seeded = () => stateThatDraws(Uint32Array.from({ length: WORDS }, (_, i) => (i * 2_654_435_761) >>> 0));
const bits = (values: Float32Array) => new Uint32Array(values.slice().buffer);

describe("mersenneDraws", () => {
  test("says what the words of a state give, and leaves it as it is", () => {
    const wanted = Uint32Array.from({ length: WORDS }, (_, i) => (i * 2_654_435_761) >>> 0);
    const state = stateThatDraws(wanted);
    state[WORDS] = 100;
    const before = state.slice();
    const { state: same, draws } = mersenneDraws(state);
    expect(draws).toEqual(wanted);
    expect(same).toEqual(before);
    expect(state).toEqual(before);
  });

  test("draws anew where all words were drawn", () => {
    const state = seeded();
    state[WORDS] = WORDS;
    const { state: after, draws } = mersenneDraws(state);
    expect(after[WORDS]).toBe(0);
    expect(mersenneDraws(after)).toEqual({ state: after, draws });
    expect(draws).not.toEqual(mersenneDraws(seeded()).draws);
  });

  test("refuses what is no state", () => {
    for (const state of [new Uint32Array(WORDS), new Float32Array(WORDS + 1), "state", undefined]) {
      expect(() => mersenneDraws(state as Uint32Array)).toThrow(/mersenneDraws state/);
    }
    expect(() => mersenneDraws(new Uint32Array(WORDS + 1).fill(WORDS + 1))).toThrow(/a position up to 624/);
  });
});

describe("fillNormals", () => {
  test("gives the bits of JavaScript's functions at the ends and seams of their range, on every instruction set", async () => {
    const seams = [0, 1, 2, 3, 4, 5, 6, 7, 8].map((eighth) => (eighth * 2 ** 24) / 8);
    const near = seams.flatMap((seam) => [-3, -2, -1, 0, 1, 2, 3].map((by) => seam + by));
    // √½, where the logarithm's reduction changes, and numbers from all over.
    const others = Array.from({ length: 2000 }, (_, i) => (i * 2_654_435_761) % 2 ** 24);
    const around = Math.round((1 - Math.SQRT1_2) * 2 ** 24);
    const all = [...near, around - 1, around, around + 1, ...others].filter((draw) => draw >= 0 && draw < 2 ** 24);
    for (const isa of isas)
      for (let at = 0; at + 16 <= all.length; at += 16) {
        const draws = all.slice(at, at + 16);
        const values = sharedFloats(16);
        await fillNormals(stateThatDraws(draws), values, { isa });
        expect(bits(values)).toEqual(bits(normalsOf(draws)));
      }
  });

  test("gives the same state and bits on every instruction set, types and ragged ends included", async () => {
    const mean = sharedFloats(1999).map((_, i) => i / 100);
    for (const dtype of ["f32", "f16", "bf16"] as const) {
      const runs = isas.map(async (isa) => {
        const values = sharedFloats(1999);
        return [await fillNormals(seeded(), values, { isa, dtype, mean, scale: 0.3 }), bits(values)];
      });
      const [plain, ...rest] = await Promise.all(runs);
      for (const each of rest) expect(each).toEqual(plain);
    }
  });

  test("gives the same bits of millions on every instruction set, fused operations or not", async () => {
    const [plain, other] = [sharedFloats(2 ** 22), sharedFloats(2 ** 22)];
    let state = seeded();
    for (let i = 0; i < 3; i++) {
      const after = await fillNormals(state, plain, { isa: "plain" });
      for (const isa of isas) {
        expect(await fillNormals(state, other, { isa })).toEqual(after);
        expect(Buffer.compare(Buffer.from(other.buffer), Buffer.from(plain.buffer))).toBe(0);
      }
      state = after;
    }
  });

  test("rounds to float16 over all of its range, on every instruction set", async () => {
    // The nearest of the numbers that float16 has around a value: steps of 2^-24 below 2^-14.
    const rounded = (value: number): number => {
      if (!Number.isFinite(value)) return value;
      const step = 2 ** (Math.max(Math.floor(Math.log2(Math.abs(value))), -14) - 10);
      const [whole, below] = [value / step, Math.floor(value / step)];
      const isUp = whole - below > 0.5 || (whole - below === 0.5 && below % 2 !== 0);
      const near = (below + (isUp ? 1 : 0)) * step;
      return Math.abs(near) > 65504 ? Math.sign(value) * Number.POSITIVE_INFINITY : near;
    };
    for (const scale of [1, 1e-5, 3e-8, 4e4, Number.POSITIVE_INFINITY])
      for (const isa of isas) {
        const [unit, values, mean] = [
          sharedFloats(4000),
          sharedFloats(4000),
          sharedFloats(4000).fill(Number.NaN, 3990),
        ];
        await fillNormals(seeded(), unit, { isa });
        await fillNormals(seeded(), values, { isa, scale, dtype: "f16", mean });
        values.slice(0, 3990).forEach((value, i) => {
          expect(value).toBe(rounded(Math.fround(rounded(unit[i]!) * Math.fround(scale))));
        });
        expect(values.subarray(3990).every(Number.isNaN)).toBe(true);
      }
  });

  test("gives on several threads what one gives, up to a ragged end", async () => {
    const mean = sharedFloats(200_005).map((_, i) => (i % 97) / 10);
    const options = { dtype: "f16", scale: 0.3 } as const;
    const [together, ragged] = [sharedFloats(200_000), sharedFloats(200_005)];
    const after = await fillNormals(seeded(), together, { ...options, mean: mean.subarray(0, 200_000) });
    await fillNormals(seeded(), ragged, { ...options, mean });
    let state = seeded();
    for (let at = 0; at < 200_000; at += 20_000) {
      const [part, its] = [sharedFloats(20_000), mean.subarray(at, at + 20_000)];
      state = await fillNormals(state, part, { ...options, mean: its });
      expect(bits(together.subarray(at, at + 20_000))).toEqual(bits(part));
    }
    expect(after).toEqual(state);
    expect(bits(ragged.subarray(0, 199_984))).toEqual(bits(together.subarray(0, 199_984)));
  });

  test("goes on where a state stopped and leaves the one that it was given", async () => {
    const [together, first, second] = [sharedFloats(1600), sharedFloats(640), sharedFloats(960)];
    const state = seeded();
    await fillNormals(state, together);
    expect(state).toEqual(seeded());
    const between = await fillNormals(state, first);
    expect([between.length, between[WORDS]]).toEqual([WORDS + 1, 16]);
    await fillNormals(between, second);
    expect([...first, ...second]).toEqual([...together]);
  });

  test.each<[string, Parameters<typeof fillNormals>, string]>([
    ["a state of words that are too few", [new Uint32Array(624), sharedFloats(16)], "attr"],
    ["a state of floats", [new Float32Array(625) as never, sharedFloats(16)], "attr"],
    ["a position beyond the state", [new Uint32Array(625).fill(625), sharedFloats(16)], "attr"],
    ["fewer than 16 numbers", [seeded(), sharedFloats(15)], "attr"],
    ["doubles", [seeded(), new Float64Array(16) as never], "attr"],
    ["no array", [seeded(), undefined as never], "attr"],
    ["a scale that is no number", [seeded(), sharedFloats(16), { scale: "big" as never }], "attr"],
    ["integers", [seeded(), sharedFloats(16), { dtype: "i32" as never }], "dtype"],
    ["a type that is none", [seeded(), sharedFloats(16), { dtype: "f12" as never }], "dtype"],
    ["a mean of another length", [seeded(), sharedFloats(16), { mean: sharedFloats(17) }], "shape"],
    ["a mean of integers", [seeded(), sharedFloats(16), { mean: new Int32Array(16) as never }], "attr"],
    ["an unknown instruction set", [seeded(), sharedFloats(16), { isa: "mmx" }], "attr"],
  ])("refuses %s", async (_what, args, code) => {
    await expect(fillNormals(...args)).rejects.toMatchObject({ name: "VdError", code });
  });

  test("refuses a mean that lies in the values", async () => {
    const memory = sharedFloats(40);
    const call = fillNormals(seeded(), memory.subarray(0, 20), { mean: memory.subarray(19, 39) });
    await expect(call).rejects.toMatchObject({ code: "layout" });
    await fillNormals(seeded(), memory.subarray(0, 20), { mean: memory.subarray(20) });
  });

  test("says so when the values were taken away meanwhile, and fills what shared memory is left alone", async () => {
    const values = new Float32Array(1600);
    const running = fillNormals(seeded(), values);
    structuredClone(values.buffer, { transfer: [values.buffer] });
    await expect(running).rejects.toThrow("[fillNormals values] expected the 1600 numbers that it had, got 0");
    await expect(fillNormals(seeded(), values)).rejects.toMatchObject({ code: "attr" });
    const growable = new (SharedArrayBuffer as unknown as new (n: number, o: object) => SharedArrayBuffer)(6400, {
      maxByteLength: 12_800,
    }) as SharedArrayBuffer & { grow(bytes: number): void };
    const shared = new Float32Array(growable, 0, 1600);
    const growing = fillNormals(seeded(), shared);
    growable.grow(12_800);
    await growing;
    const wanted = sharedFloats(1600);
    await fillNormals(seeded(), wanted);
    expect(shared).toEqual(wanted);
  });
});

test("a buffer takes shared memory in place and copies any other before the call returns", async () => {
  const bytes = Uint8Array.from({ length: 300_000 }, (_, i) => i % 251);
  const shared = new Uint8Array(new SharedArrayBuffer(bytes.length));
  shared.set(bytes);
  const buffer = allocateBuffer(bytes.length + 8);
  const same = (from: number) =>
    Buffer.compare(buffer.readSync(new Uint8Array(bytes.length), 8).subarray(from), bytes.subarray(from));
  await buffer.write(new DataView(shared.buffer), 8);
  expect(same(0)).toBe(0);
  buffer.fillSync(0);
  await buffer.write(shared.subarray(100), 108);
  expect(same(100)).toBe(0);
  const own = bytes.slice();
  const sending = buffer.write(own, 8);
  own.fill(7);
  structuredClone(own.buffer, { transfer: [own.buffer] });
  await sending;
  expect(same(0)).toBe(0);
  await expect(buffer.write(shared, 9)).rejects.toMatchObject({ code: "layout" });
});
