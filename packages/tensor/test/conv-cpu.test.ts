import { allocateBuffer, type Device, openDevice } from "@vd/kernels-native";
import { describe, expect, it } from "vitest";
import { makeStorage, packedTensor } from "../src/graph";
import { toBfloat16Array, toFloat16Array } from "../src/half";
import { compile } from "../src/plan/plan";
import { CpuGenerator } from "../src/random/cpu-generator";
import type { Tensor } from "../src/tensor";

const ISAS = ["plain", "avx2", "avx512", "best"];

interface Conv {
  x: Float32Array;
  /** [B,F,H,W,C] */
  dims: readonly number[];
  weight: Float32Array;
  /** In which the weights are kept; default f32. */
  dtype?: "f32" | "f16" | "bf16";
  /** [K,C,T,R,S] */
  kernel: readonly number[];
  padding: readonly [number, number, number, number, number, number];
  upsample?: boolean;
}

const count = (dims: readonly number[]) => dims.reduce((product, dim) => product * dim, 1);

function convOf(dims: readonly number[], kernel: readonly number[], padding: Conv["padding"]): Conv {
  const draw = new CpuGenerator(5);
  return { x: draw.randn(count(dims)), dims, weight: draw.randn(count(kernel)), kernel, padding };
}

/** Weights in memory in the element type of a convolution. */
function weightsOf({ weight, kernel, dtype = "f32" }: Conv): Tensor {
  const stored = { f32: () => weight, f16: () => toFloat16Array(weight), bf16: () => toBfloat16Array(weight) }[dtype]();
  const buffer = allocateBuffer(stored.byteLength);
  buffer.writeSync(stored);
  return packedTensor(makeStorage("weights", stored.byteLength, "weight", { buffer, byteOffset: 0 }), kernel, dtype);
}

async function run(device: Device, conv: Conv): Promise<Float32Array> {
  const { x, dims, padding, upsample = false } = conv;
  const plan = await compile(device, (g) => {
    g.output("y", g.conv({ x: g.input("x", dims), weight: weightsOf(conv), padding, upsample }));
  });
  await plan.write("x", x);
  await plan.run();
  const y = await plan.read("y");
  await plan.free();
  return y;
}

const cpu = (isa: string, options: { threads?: number; reference?: boolean } = {}) =>
  openDevice("cpu", { isa, threads: 1, ...options });

const KERNELS = [
  { name: "3x3", kernel: [24, 20, 1, 3, 3], padding: [0, 0, 1, 1, 1, 1] },
  { name: "3x3 doubled", kernel: [24, 20, 1, 3, 3], padding: [0, 0, 1, 1, 1, 1], upsample: true },
  { name: "3x3x3", kernel: [24, 20, 3, 3, 3], padding: [1, 1, 1, 1, 1, 1] },
  { name: "3x3 to few channels", kernel: [5, 20, 1, 3, 3], padding: [0, 0, 1, 1, 1, 1] },
  { name: "5x5", kernel: [18, 20, 1, 5, 5], padding: [0, 0, 2, 2, 2, 2] },
  { name: "3x1x1", kernel: [24, 20, 3, 1, 1], padding: [1, 1, 0, 0, 0, 0] },
  { name: "3x4 of whole lines", kernel: [18, 20, 1, 3, 4], padding: [0, 0, 1, 1, 0, 0] },
] as const;

describe.each(KERNELS)(
  "$name: padding adds nothing, and what is not finite stays in the windows that hold it",
  (each) => {
    const made = () => ({
      ...convOf([1, 3, 7, 9, 20], each.kernel, each.padding),
      upsample: "upsample" in each,
    });

    /** Which results are finite, by the definition and by the fast paths. */
    async function finiteResults(conv: Conv) {
      const finite = async (device: Device) => Array.from(await run(device, conv), Number.isFinite);
      const definition = await finite(cpu("best", { reference: true }));
      const fast = await Promise.all(ISAS.map((isa) => finite(cpu(isa))));
      return { definition, fast };
    }

    // A window of a doubled picture holds a pixel up to four times, whose sum the definition must hold in float32.
    const large = "upsample" in each ? 2e37 : 1e38;
    it.each([Number.POSITIVE_INFINITY, Number.NaN, large])("%f among the inputs", async (value) => {
      const conv = made();
      for (const at of [3, 20 * 31 + 7, conv.x.length - 1]) conv.x[at] = value;
      const { definition, fast } = await finiteResults(conv);
      expect(definition).toContain(true);
      for (const finite of fast) expect(finite).toEqual(definition);
    });

    it.each([
      [Number.NEGATIVE_INFINITY, undefined],
      [Number.NaN, undefined],
      [Number.POSITIVE_INFINITY, "f16"],
      [Number.NaN, "f16"],
      [Number.NEGATIVE_INFINITY, "bf16"],
    ] as const)("%f among the weights (%s)", async (value, dtype) => {
      const conv: Conv = { ...made(), ...(dtype && { dtype }) };
      conv.weight[0] = value;
      conv.weight[conv.weight.length - 1] = value;
      const { definition, fast } = await finiteResults(conv);
      expect(definition).toContain(true);
      expect(definition).toContain(false);
      for (const finite of fast) expect(finite).toEqual(definition);
    });
  },
);

describe("sums", () => {
  it.each([
    ["3x3x3, transformed", [16, 320, 3, 3, 3], [1, 1, 1, 1, 1, 1], 1e-6],
    ["3x3x3 of few outputs, by direct products", [8, 320, 3, 3, 3], [1, 1, 1, 1, 1, 1], 5e-7],
    ["1x1", [16, 2560, 1, 1, 1], [0, 0, 0, 0, 0, 0], 5e-7],
  ] as const)("of %s are near float64's", async (_, kernel, padding, limit) => {
    const conv = convOf([1, 3, 4, 4, kernel[1]], kernel, padding);
    const exact = inFloat64(conv);
    for (const isa of ISAS) {
      const y = await run(cpu(isa), conv);
      let [error, size] = [0, 0];
      exact.forEach((value, i) => {
        error += (y[i]! - value) ** 2;
        size += value ** 2;
      });
      expect(Math.sqrt(error / size), isa).toBeLessThan(limit);
    }
  });

  it.each(KERNELS)(
    "of $name have the same bits in any chunk of frames and with any number of threads",
    async (each) => {
      const { kernel } = each;
      const padding = [0, 0, ...each.padding.slice(2)] as unknown as Conv["padding"];
      const whole = convOf([1, 7, 7, 9, 20], kernel, padding);
      const frame = 7 * 9 * 20;
      const part = { ...whole, dims: [1, 4, 7, 9, 20], x: whole.x.slice(2 * frame, 6 * frame) };
      for (const isa of ISAS) {
        const all = await run(cpu(isa), whole);
        expect(await run(cpu(isa, { threads: 2 }), whole)).toEqual(all);
        const chunk = await run(cpu(isa), part);
        const outFrame = 7 * (9 + padding[4] + padding[5] - kernel[4] + 1) * kernel[0];
        expect(chunk).toEqual(all.slice(2 * outFrame, 2 * outFrame + chunk.length));
      }
    },
  );
});

function inFloat64({ x, dims, weight, kernel, padding }: Conv): Float64Array {
  const [, frames, height, width, channels] = dims as [number, number, number, number, number];
  const [outs, , T, R, S] = kernel as [number, number, number, number, number];
  const y = new Float64Array(frames * height * width * outs);
  y.forEach((_, i) => {
    const [k, q, p, f] = [
      i % outs,
      Math.floor(i / outs) % width,
      Math.floor(i / outs / width) % height,
      Math.floor(i / outs / width / height),
    ];
    let sum = 0;
    for (let tap = 0; tap < T * R * S; tap++) {
      const at = [
        f + Math.floor(tap / R / S) - padding[0],
        p + (Math.floor(tap / S) % R) - padding[2],
        q + (tap % S) - padding[4],
      ];
      const inside = at.every((value, axis) => value >= 0 && value < [frames, height, width][axis]!);
      if (!inside) continue;
      const pixel = ((at[0]! * height + at[1]!) * width + at[2]!) * channels;
      for (let c = 0; c < channels; c++) sum += x[pixel + c]! * weight[(k * channels + c) * T * R * S + tap]!;
    }
    y[i] = sum;
  });
  return y;
}
