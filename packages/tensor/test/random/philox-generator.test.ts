import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { fromBfloat16Array, fromFloat16Array } from "../../src/half";
import { PhiloxGenerator } from "../../src/random";
import { philox4x32 } from "../../src/random/philox";

const run = { seed: 29, numRuns: 100 };
const seed = fc.bigInt({ min: 0n, max: 2n ** 64n - 1n });

describe("philox4x32", () => {
  const words = new Uint32Array(4);

  it.each([
    // The known answers of Random123's distribution.
    [
      [0, 0, 0, 0],
      [0, 0],
      [0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8],
    ],
    [
      [0xffffffff, 0xffffffff, 0xffffffff, 0xffffffff],
      [0xffffffff, 0xffffffff],
      [0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd],
    ],
    [
      [0x243f6a88, 0x85a308d3, 0x13198a2e, 0x03707344],
      [0xa4093822, 0x299f31d0],
      [0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1],
    ],
  ])("%j with key %j", (counter, [low, high], expected) => {
    philox4x32(counter, { low: low!, high: high! }, words);
    expect(Array.from(words)).toEqual(expected);
  });
});

describe("PhiloxGenerator", () => {
  it("gives the first elements of a long draw to a short one", () => {
    fc.assert(
      fc.property(seed, fc.integer({ min: 1, max: 600 }), fc.integer({ min: 0, max: 600 }), (value, length, more) => {
        const short = new PhiloxGenerator(value).randn(length);
        expect(new PhiloxGenerator(value).randn(length + more).subarray(0, length)).toEqual(short);
        expect(short.every(Number.isFinite)).toBe(true);
      }),
      run,
    );
  });

  it("moves on by 4 words per thread and turn", () => {
    const generator = new PhiloxGenerator(1, { multiprocessors: 2, threadsPerMultiprocessor: 512 });
    const threads = 1024;
    generator.randn(0);
    expect(generator.offset).toBe(0);
    generator.randn(4 * threads);
    expect(generator.offset).toBe(4);
    generator.randn(4 * threads + 1);
    expect(generator.offset).toBe(12);
  });

  it("starts from an offset that is set", () => {
    const whole = new PhiloxGenerator(5);
    whole.randn(10);
    const later = new PhiloxGenerator(5);
    later.offset = 4;
    expect(later.randn(10)).toEqual(whole.randn(10));
    expect(() => {
      later.offset = 6;
    }).toThrow("[offset] expected a multiple of 4, got 6");
  });

  it("lays a thread's four normals out a grid apart", () => {
    const small = new PhiloxGenerator(9, { multiprocessors: 1, threadsPerMultiprocessor: 256 });
    const values = small.randn(3 * 256 + 5);
    // With one element per thread, element t is the first normal of thread t, on every GPU.
    expect(values.subarray(0, 256)).toEqual(new PhiloxGenerator(9).randn(256));
    expect(values.subarray(256, 512)).not.toEqual(new PhiloxGenerator(9).randn(512).subarray(256));
  });

  it("rounds float32 to the 16-bit types", () => {
    const singles = new PhiloxGenerator(3).randn(300);
    const halves = fromFloat16Array(new PhiloxGenerator(3).randn(300, "float16"));
    const brains = fromBfloat16Array(new PhiloxGenerator(3).randn(300, "bfloat16"));
    singles.forEach((value, i) => {
      expect(Math.abs(halves[i]! - value)).toBeLessThanOrEqual(Math.abs(value) * 2 ** -11 + 2 ** -25);
      expect(Math.abs(brains[i]! - value)).toBeLessThanOrEqual(Math.abs(value) * 2 ** -8);
    });
  });

  it("has the moments of a standard normal", () => {
    const sample = new PhiloxGenerator(77).randn(100_000);
    const mean = sample.reduce((sum, value) => sum + value, 0) / sample.length;
    const variance = sample.reduce((sum, value) => sum + (value - mean) ** 2, 0) / sample.length;
    expect(Math.abs(mean)).toBeLessThan(0.01);
    expect(Math.abs(variance - 1)).toBeLessThan(0.02);
  });

  it("refuses what it cannot do", () => {
    expect(() => new PhiloxGenerator(1).randn(3, "float64" as never)).toThrow("expected float32, float16 or bfloat16");
    expect(() => new PhiloxGenerator(1, { multiprocessors: 0 })).toThrow("[multiprocessors]");
    expect(() => new PhiloxGenerator(1, { threadsPerMultiprocessor: 100 })).toThrow("an integer of at least 256");
  });
});
