import { fillNormals, VdError } from "@vd/kernels-native";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { fromBfloat16Array, fromFloat16Array } from "../../src/half";
import { CpuGenerator, type RandomDtype } from "../../src/random";
import { Mt19937 } from "../../src/random/mt19937";

const run = { seed: 23, numRuns: 200 };
const count = fc.integer({ min: 0, max: 70 });
const seed = fc.bigInt({ min: -(2n ** 63n), max: 2n ** 64n - 1n });
const dtype = fc.constantFrom<RandomDtype>("float32", "float64", "float16", "bfloat16");

function values(generator: CpuGenerator, length: number, type: RandomDtype): number[] {
  const numbers = generator.randn(length, type);
  if (!(numbers instanceof Uint16Array)) return Array.from(numbers);
  return Array.from(type === "float16" ? fromFloat16Array(numbers) : fromBfloat16Array(numbers));
}

describe("Mt19937", () => {
  it("gives the published sequence of seed 5489", () => {
    const engine = new Mt19937(5489);
    expect([engine.next(), engine.next(), engine.next()]).toEqual([3499211612, 581869302, 3890346734]);
    for (let i = 4; i < 10_000; i++) engine.next();
    // The 10,000th, as the C++ standard states it.
    expect(engine.next()).toBe(4123659995);
  });
});

describe("CpuGenerator", () => {
  it("draws raw words, 64-bit ones high half first", () => {
    const [words, pairs] = [new CpuGenerator(42), new CpuGenerator(42)];
    const [high, low] = [words.random32(), words.random32()];
    expect(pairs.random64()).toBe((BigInt(high) << 32n) | BigInt(low));
  });

  it("repeats itself for the same seed and type", () => {
    fc.assert(
      fc.property(seed, count, dtype, (value, length, type) => {
        const first = values(new CpuGenerator(value), length, type);
        expect(first).toHaveLength(length);
        expect(first.every(Number.isFinite)).toBe(true);
        expect(values(new CpuGenerator(value), length, type)).toEqual(first);
      }),
      run,
    );
  });

  it("depends on the low 32 bits of the seed, a negative one in two's complement", () => {
    fc.assert(
      fc.property(seed, (value) => {
        const low = BigInt.asUintN(32, value);
        expect(new CpuGenerator(value).randn(5)).toEqual(new CpuGenerator(low).randn(5));
      }),
      run,
    );
    expect(new CpuGenerator(-1).randn(2)[0]).toBeCloseTo(1.2198, 4);
  });

  it("keeps the spare of an odd count for the next short call, across long ones", () => {
    fc.assert(
      fc.property(seed, fc.integer({ min: 16, max: 70 }), (value, length) => {
        const [apart, together] = [new CpuGenerator(value), new CpuGenerator(value)];
        const pair = together.randn(2);
        expect(apart.randn(1)[0]).toBe(pair[0]);
        apart.randn(length);
        expect(apart.randn(1)[0]).toBe(pair[1]);
      }),
      run,
    );
  });

  it("draws again for the last 16 of a ragged count, and leaves what is before them", () => {
    fc.assert(
      fc.property(seed, fc.integer({ min: 17, max: 70 }), (value, length) => {
        const whole = new CpuGenerator(value).randn(Math.ceil(length / 16) * 16);
        const ragged = new CpuGenerator(value).randn(length);
        const kept = length % 16 === 0 ? length : Math.min(length - 16, Math.floor(length / 16) * 16);
        expect(ragged.subarray(0, kept)).toEqual(whole.subarray(0, kept));
      }),
      run,
    );
  });

  it("rounds 16-bit normals once in the 2.13 way: they are the float32 ones rounded, for whole blocks", () => {
    const generator = () => new CpuGenerator(7, { halfAlgorithm: "torch-2.13" });
    const halves = fromFloat16Array(generator().randn(256, "float16"));
    const singles = generator().randn(256);
    const older = fromFloat16Array(new CpuGenerator(7).randn(256, "float16"));
    expect(halves.every((value, i) => Math.abs(value - singles[i]!) <= Math.abs(singles[i]!) * 2 ** -10)).toBe(true);
    expect(halves).not.toEqual(older);
  });

  it("has the moments of a standard normal", () => {
    for (const type of ["float32", "float64", "float16"] as const) {
      const sample = values(new CpuGenerator(3), 200_000, type);
      const mean = sample.reduce((sum, value) => sum + value, 0) / sample.length;
      const variance = sample.reduce((sum, value) => sum + (value - mean) ** 2, 0) / sample.length;
      expect(Math.abs(mean)).toBeLessThan(0.01);
      expect(Math.abs(variance - 1)).toBeLessThan(0.02);
    }
  });

  it("draws uniforms below 1, also where rounding would reach it", () => {
    for (const halfAlgorithm of ["torch-2.11", "torch-2.13"] as const) {
      const generator = new CpuGenerator(3, { halfAlgorithm });
      for (const sample of [
        generator.rand(50_000),
        generator.rand(50_000, "float64"),
        fromFloat16Array(generator.rand(50_000, "float16")),
        fromBfloat16Array(generator.rand(50_000, "bfloat16")),
      ].map((numbers) => Array.from(numbers))) {
        expect(sample.every((value) => value >= 0 && value < 1)).toBe(true);
        expect(Math.abs(sample.reduce((sum, value) => sum + value, 0) / sample.length - 0.5)).toBeLessThan(0.01);
      }
    }
  });

  it("refuses seeds and counts that are none", () => {
    for (const wrong of [1.5, Number.NaN, 2 ** 60, 2n ** 64n, -(2n ** 63n) - 1n]) {
      expect(() => new CpuGenerator(wrong)).toThrow(VdError);
    }
    expect(() => new CpuGenerator(2 ** 60)).toThrow(
      "[seed] expected an integer in -2^63…2^64-1, got 1152921504606847000. Beyond 2^53 pass a bigint.",
    );
    expect(() => new CpuGenerator(1).randn(-1)).toThrow("[randn] expected a count of elements, got -1");
    expect(() => new CpuGenerator(1).randn(3, "int8" as never)).toThrow(
      "expected float32, float64, float16 or bfloat16",
    );
  });
});

describe("saveState", () => {
  it("is where the addon goes on, and does not change with what is drawn afterwards", async () => {
    const generator = new CpuGenerator(5);
    generator.randn(48);
    const state = generator.saveState();
    const wanted = await generator.randnOnWorker(32);
    const values = new Float32Array(32);
    await fillNormals(state, values);
    expect(values).toEqual(Float32Array.from(wanted));
    const drawing = generator.randnOnWorker(32);
    expect(() => generator.saveState()).toThrow(VdError);
    await drawing;
  });
});

describe("restoreState", () => {
  it("goes on where another generator stood, in the middle of its words", () => {
    const first = new CpuGenerator(7);
    first.randn(100);
    const state = first.saveState();
    const other = new CpuGenerator(8);
    other.restoreState(state);
    expect(other.randn(1000)).toEqual(first.randn(1000));
  });

  it("refuses what is no state", () => {
    const generator = new CpuGenerator(7);
    expect(() => generator.restoreState(new Uint32Array(3))).toThrow(VdError);
    expect(() => generator.restoreState(new Uint32Array(625).fill(625))).toThrow(VdError);
  });
});
