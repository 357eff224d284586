import { openDevice } from "@vd/kernels-native";
import { describe, expect, test } from "vitest";
import { eager, PhiloxGenerator } from "../src/index";

const device = openDevice("cpu");
const run = eager(device);
const { ops } = run;
const tensor = run.tensor.bind(run);
const readSync = run.readSync.bind(run);
/** Rows: next sample, denoised; columns: x, prediction, noise. */
const NOISE_ALONE = [0, 0, 1, 0, 0, 0];

/** Unit normals for planes [C,H,W] of one frame, as the planes lie. */
async function drawn(words: readonly number[], [C, H, W]: readonly [number, number, number], lanes?: number) {
  const zeros = tensor(new Float32Array(C * H * W), [1, 1, H, W, C]);
  const next = await ops.samplerStep({
    ...{ prediction: zeros, x: zeros, lanes },
    coefficients: tensor(NOISE_ALONE, [2, 3]),
    philox: tensor(words, [4], "i32"),
  });
  const pixels = readSync(next);
  return Array.from({ length: C * H * W }, (_, i) => pixels[(i % (H * W)) * C + Math.floor(i / (H * W))]!);
}

describe("sampler_step draws noise", () => {
  // What torch.manual_seed(0); torch.randn(12, device="cuda") prints.
  const TORCH = [
    ...[-0.92466259, -0.42534415, -2.6438457, 0.14518388, -0.12086647, -0.57972564],
    ...[-0.62285122, -0.32838709, -1.07454231, -0.36314407, -1.67105067, 2.26550497],
  ];

  test("as torch does on a GPU, in the order of the planes", async () => {
    const values = await drawn([0, 0, 0, 0], [3, 2, 2]);
    for (const [i, value] of values.entries()) expect(value).toBeCloseTo(TORCH[i]!, 5);
  });

  test("lane by lane: a lane's first numbers stay when it takes more turns", async () => {
    const [few, many] = [await drawn([7, 1, 2, 0], [1, 2, 2], 4), await drawn([7, 1, 2, 0], [1, 4, 5], 4)];
    expect(many.slice(0, 4)).toEqual(few);
    // After four turns comes the engine's next call.
    expect(many.slice(16)).toEqual(await drawn([7, 1, 3, 0], [1, 2, 2], 4));
    expect(new Set(many).size).toBe(many.length);
  });

  test("as PhiloxGenerator does, also when lanes take many turns", async () => {
    const sizes = [3, 17, 19] as const;
    for (const options of [{}, { multiprocessors: 1, threadsPerMultiprocessor: 256 }]) {
      const [there, here] = [new PhiloxGenerator(-12345678901n, options), new PhiloxGenerator(-12345678901n, options)];
      for (let call = 0; call < 2; call++) {
        const { words, lanes } = there.draw(3 * 17 * 19);
        const [got, wanted] = [await drawn([...words], sizes, lanes), here.randn(3 * 17 * 19)];
        got.forEach((value, i) => {
          expect(Math.abs(value - wanted[i]!)).toBeLessThan(2e-6);
        });
      }
      expect(there.offset).toBe(here.offset);
    }
  });

  test("with mean 0 and deviation 1", async () => {
    const values = await drawn([123, 0, 0, 0], [4, 50, 50], 2048);
    const mean = values.reduce((sum, v) => sum + v, 0) / values.length;
    const variance = values.reduce((sum, v) => sum + (v - mean) ** 2, 0) / values.length;
    expect(Math.abs(mean)).toBeLessThan(0.03);
    expect(Math.abs(variance - 1)).toBeLessThan(0.05);
  });
});

describe("sampler_step bounds", () => {
  /** Rows: next sample, denoised, data; columns: x, prediction, noise, data. The data is the prediction. */
  const DATA_ALONE = [0, 0, 0, 1, 0, 0, 0, 1, 0, 1, 0, 0];
  const bounded = async (values: readonly number[], options: object) => {
    const dims = [1, 1, 1, values.length, 1];
    const prediction = tensor(values, dims);
    const x = tensor(new Float32Array(values.length), dims);
    const next = await ops.samplerStep({ prediction, x, coefficients: tensor(DATA_ALONE, [3, 4]), ...options });
    return [...readSync(next)];
  };

  test("by clipping; NaN stays", async () => {
    expect(await bounded([-3, 0.5, 2, Number.NaN], { bounds: "clip", clipRange: 1.5 })).toEqual([
      ...[-1.5, 0.5, 1.5],
      Number.NaN,
    ]);
  });

  test("by a quantile of magnitudes between two of them", async () => {
    // Half of four numbers: in the middle of 2 and 3.
    const [a, b, c, d] = await bounded([-1, 2, -3, 4], { bounds: "threshold", quantile: 0.5, maxValue: 100 });
    expect([a, b, c, d]).toEqual([Math.fround(-1 / 2.5), Math.fround(2 / 2.5), -1, 1]);
  });

  test("by at least 1 and at most the largest", async () => {
    expect(await bounded([0.25, -0.5], { bounds: "threshold", quantile: 1, maxValue: 9 })).toEqual([0.25, -0.5]);
    expect(await bounded([8, -50], { bounds: "threshold", quantile: 1, maxValue: 4 })).toEqual([1, -1]);
  });

  test("pixels near the earlier ones are blended, others not, whichever of their channels is far", async () => {
    const blended = await ops.samplerStep({
      prediction: tensor([1, 1, 1, 9], [1, 1, 1, 2, 2]),
      x: tensor([0, 0, 0, 0], [1, 1, 1, 2, 2]),
      coefficients: tensor(DATA_ALONE, [3, 4]),
      previous: tensor([2, 2, 2, 2], [1, 1, 1, 2, 2]),
      blend: tensor([0.25, 1], [2]),
    });
    expect([...readSync(blended)]).toEqual([1.25, 1.25, 1, 9]);
  });
});

test("sampler_step takes noise or draws it", async () => {
  const one = tensor([0], [1, 1, 1, 1, 1]);
  const coefficients = tensor(NOISE_ALONE, [2, 3]);
  const philox = tensor([0, 0, 0, 0], [4], "i32");
  await expect(ops.samplerStep({ prediction: one, x: one, coefficients, noise: one, philox })).rejects.toThrow(
    "expected noise or philox, not both",
  );
});
