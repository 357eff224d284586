import { isVdError, sharedFloats, VdError } from "@vd/kernels-native";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { roundToBfloat16, roundToFloat16 } from "../../src/half";
import { CpuGenerator, type ShapedNormals } from "../../src/random";

const dtypes = ["float32", "float16", "bfloat16"] as const;
const rounding = { float32: Math.fround, float16: roundToFloat16, bfloat16: roundToBfloat16 };
const bitsOf = (values: Float32Array) => new Uint32Array(values.buffer, values.byteOffset, values.length);

/** mean + scale · normal of the normals that {@link CpuGenerator.randn} makes in JavaScript. */
function shapedAtOnce(random: CpuGenerator, count: number, { scale = 1, mean, dtype = "float32" }: ShapedNormals) {
  const round = rounding[dtype];
  return random.randn(count).map((normal, i) => {
    const scaled = round(round(normal) * Math.fround(scale));
    return mean ? round(mean[i]! + scaled) : scaled;
  });
}

async function failure(work: Promise<unknown>): Promise<VdError> {
  const error = await work.catch((reason) => reason);
  if (isVdError(error)) return error;
  throw new Error(`expected a VdError, got ${String(error)}`);
}

describe("normals that a worker draws", () => {
  it("have the bits of those at once, and so has what follows them", async () => {
    const counts = fc.array(fc.oneof(fc.nat(70), fc.nat(20_000)), { minLength: 1, maxLength: 4 });
    const draws = fc.tuple(counts, fc.bigInt({ min: -(2n ** 63n), max: 2n ** 64n - 1n }));
    await fc.assert(
      fc.asyncProperty(draws, async ([sizes, seed]) => {
        const [worker, atOnce] = [new CpuGenerator(seed), new CpuGenerator(seed)];
        for (const count of sizes)
          expect(bitsOf(await worker.randnOnWorker(count))).toEqual(bitsOf(atOnce.randn(count)));
        expect(worker.random32()).toBe(atOnce.random32());
        expect(worker.randn(3)).toEqual(atOnce.randn(3));
      }),
      {
        seed: 5,
        numRuns: 40,
        examples: [
          [[[0, 1, 15, 16], 1n]],
          [[[17, 31, 32, 33], 2n]],
          [[[623, 624, 625], 3n]],
          [[[3, 8192, 5, 16_384 + 7], 4n]],
        ],
      },
    );
  });

  it("have them for a picture's worth of numbers", async () => {
    const count = 3 * 512 * 288 + 5;
    const values = await new CpuGenerator(42).randnOnWorker(count);
    expect(Buffer.from(values.buffer).equals(Buffer.from(new CpuGenerator(42).randn(count).buffer))).toBe(true);
  });

  it.each(dtypes)("are scaled, moved and rounded to %s as in JavaScript", async (dtype) => {
    for (const count of [7, 16, 1003])
      for (const scale of [1, 0.02, 700.5, -1e-9]) {
        const mean = new CpuGenerator(1).randn(count);
        for (const options of [
          { scale, dtype },
          { scale, dtype, mean },
        ]) {
          const [worker, atOnce] = [new CpuGenerator(8), new CpuGenerator(8)];
          const [got, wanted] = [await worker.randnOnWorker(count, options), shapedAtOnce(atOnce, count, options)];
          expect(bitsOf(got)).toEqual(bitsOf(wanted));
        }
      }
  });

  it("go where they shall, in shared and in other memory, and leave what is beside them", async () => {
    const wanted = new CpuGenerator(3).randn(100);
    for (const whole of [sharedFloats(120), new Float32Array(120)]) {
      const into = whole.subarray(10, 110);
      expect(await new CpuGenerator(3).randnOnWorker(100, { into, mean: sharedFloats(100) })).toBe(into);
      expect(into).toEqual(wanted);
      expect([...whole.subarray(0, 10), ...whole.subarray(110)].every((value) => value === 0)).toBe(true);
    }
  });

  it("leave the event loop alone: it turns while they are drawn", async () => {
    let turns = 0;
    const timer = setInterval(() => turns++, 1);
    await new CpuGenerator(1).randnOnWorker(4_000_000);
    clearInterval(timer);
    expect(turns).toBeGreaterThan(0);
  });

  it("are drawn one call at a time; the generator goes on afterwards, failures included", async () => {
    const [random, other] = [new CpuGenerator(6), new CpuGenerator(6)];
    const first = random.randnOnWorker(1000);
    for (const call of [() => random.randn(3), () => random.rand(3), () => random.random32(), () => random.random64()])
      expect(call).toThrow("[randn] expected one call of a generator at a time, got a second one. Await the first.");
    expect((await failure(random.randnOnWorker(1000))).code).toBe("unsupported");
    expect(await first).toEqual(other.randn(1000));
    expect((await failure(random.randnOnWorker(100, { scale: "big" as never }))).code).toBe("attr");
    expect(await random.randnOnWorker(50)).toEqual(other.randn(50));
  });

  it("refuse arrays of another length and types that are none", async () => {
    const random = new CpuGenerator(1);
    for (const name of ["into", "mean"]) {
      const error = await failure(random.randnOnWorker(20, { [name]: new Float32Array(19) }));
      expect(error.message).toBe(`[randn ${name}] expected 20 numbers, got 19`);
    }
    expect((await failure(random.randnOnWorker(20, { dtype: "int8" as never }))).code).toBe("dtype");
    await expect(random.randnOnWorker(-1)).rejects.toThrow(VdError);
    const values = sharedFloats(20);
    expect((await failure(random.randnOnWorker(20, { into: values, mean: values }))).code).toBe("layout");
    expect(random.random32()).toBe(new CpuGenerator(1).random32());
  });
});
