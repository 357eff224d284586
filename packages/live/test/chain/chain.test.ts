import { openDevice } from "@vd/kernels-native";
import { CpuGenerator, layoutGraph, Plan, planesToPixels, randomWeights } from "@vd/tensor";
import { expect, test } from "vitest";
import { ChainBatches, type ChainBatchesOptions } from "../../src/chain/chain-batches";
import { recordRandomChain } from "../../src/chain/random-chain";
import { chainSigmas, chainTimestep } from "../../src/chain/record-chain";
import {
  createLiveSession,
  type LiveSessionOptions,
  PictureEngine,
  REFERENCE_UNET_CHAIN,
  unetChain,
} from "../../src/index";
import { numbersOfLevels } from "../../src/model/picture-levels";
import { slope } from "../support/stable-diffusion";

const CONFIG = {
  ...REFERENCE_UNET_CHAIN,
  ...{ baseChannels: [8, 4], heads: 2, timeChannels: 8, temporalChannels: 8 },
};
const network = unetChain(randomWeights(1), CONFIG);
const device = openDevice("cpu", { threads: 1 });
const [SIDE, COUNT] = [16, 3 * 16 * 16];
const REDS = [10, 200, 90, 170];

type Options = Partial<ChainBatchesOptions> & { ahead?: number; steps?: number };

async function engineOf({ ahead, ...options }: Options = {}) {
  const batches = new ChainBatches({ network, device, seed: 3, change: false, ...options });
  return PictureEngine.open({ batches, width: SIDE, height: SIDE, change: false, ahead });
}

type Engine = Awaited<ReturnType<typeof engineOf>>;

async function frameOf(engine: Engine, red: number | undefined, steps = 1): Promise<Uint8Array> {
  if (red !== undefined) engine.pushVideo(slope(red, SIDE).data as Uint8Array, 1);
  const into = new Uint8Array(COUNT);
  await engine.make({ steps, action: 0, drift: false, deep: "none", timing: false, into });
  return into;
}

async function play({ steps, ...options }: Options, reds: readonly (number | undefined)[]): Promise<Uint8Array[]> {
  const engine = await engineOf(options);
  const frames: Uint8Array[] = [];
  for (const red of reds) frames.push(await frameOf(engine, red, steps));
  await engine.free();
  return frames;
}

/** What the network makes of given pictures, by a program of its own. */
async function predict(sample: Float32Array, previous: Float32Array, sigma: number): Promise<Float32Array> {
  const plan = await Plan.load(
    device,
    layoutGraph((g) => {
      const time = g.empty([1, 1, 1, network.timeWidth]);
      network.conditionTime(g, g.input("timestep", [1, 1], "f32"), time);
      const [x, before] = [g.input("sample", [1, 1, SIDE, SIDE, 16]), g.input("previous", [1, 1, SIDE, SIDE, 3])];
      g.output("y", network.forward(g, { sample: x, previous: before, time }));
    }),
  );
  const roomy = new Float32Array(16 * SIDE * SIDE);
  for (let i = 0; i < COUNT; i++) roomy[Math.floor(i / 3) * 16 + (i % 3)] = sample[i]! / Math.sqrt(sigma * sigma + 1);
  plan.writeSync("timestep", [chainTimestep(sigma)]);
  plan.writeSync("sample", roomy);
  plan.writeSync("previous", previous);
  await plan.run();
  const y = plan.readSync("y");
  await plan.free();
  return y;
}

test.each([1, 2])("frames are what the network's predictions and Euler's steps make, %i steps", async (steps) => {
  const engine = await engineOf();
  const sigmas = chainSigmas(steps);
  let newest = new Float32Array(COUNT);
  let noise: Float32Array | undefined;
  for (const red of REDS) {
    const clean = numbersOfLevels(slope(red, SIDE).data as Uint8Array, new Float32Array(COUNT));
    const frame = await frameOf(engine, red, steps);
    noise ??= streamNoise();
    let x = clean.map((value, i) => value + sigmas[0]! * noise![i]!);
    for (const [i, sigma] of sigmas.entries()) {
      const data = await predict(x, newest, sigma);
      const rest = (sigmas[i + 1] ?? 0) / sigma;
      x = x.map((value, at) => rest * value + (1 - rest) * data[at]!);
    }
    newest = x.map((value) => Math.min(1, Math.max(-1, value)));
    const { context } = await engine.save(steps);
    // The newest frame stands before its part and a flag.
    const kept = context.subarray(COUNT, 2 * COUNT);
    expect(Math.max(...kept.map((value, i) => Math.abs(value - newest[i]!)))).toBeLessThan(1e-5);
    const shown = kept.map((value) => Math.round((value / 2 + 0.5) * 255));
    // Halves may be rounded the other way.
    expect(Math.max(...frame.map((level, i) => Math.abs(level - shown[i]!)))).toBeLessThanOrEqual(1);
    expect(new Set(frame).size).toBeGreaterThan(5);
  }
  await engine.free();
});

/** Unit noise of the engine's seed. */
function streamNoise(): Float32Array {
  return planesToPixels(new CpuGenerator(3).randn(COUNT), [1, 3, SIDE, SIDE], new Float32Array(COUNT));
}

test.each<Options>([{}, { steps: 2 }, { temporalBlend: { weight: 0.5, threshold: 9 } }])(
  "a frame begun ahead is the same one, a frame later, %j",
  async (options) => {
    const plain = await play(options, [REDS[0], ...REDS]);
    expect(await play({ ...options, ahead: 1 }, [...REDS, undefined])).toEqual(plain);
    expect(new Set(plain.map((frame) => frame.join())).size).toBeGreaterThan(2);
  },
);

test("blending with the frame before is part of the last step: all of it stops the picture", async () => {
  const [first, , frozen] = await play({ temporalBlend: { weight: 1, threshold: Number.POSITIVE_INFINITY } }, REDS);
  expect(frozen).toEqual(first);
  const plain = await play({}, REDS);
  expect(plain[0]).toEqual(first);
  expect(plain[2]).not.toEqual(first);
  expect(await play({ temporalBlend: { weight: 1, threshold: 0 } }, REDS)).toEqual(plain);
});

test("products of wide layers in float8 change frames by little", async () => {
  const newest = async (float8: boolean) => {
    const engine = await engineOf({ float8 });
    for (const red of REDS) await frameOf(engine, red);
    const { context } = await engine.save(1);
    await engine.free();
    return context.subarray(COUNT, 2 * COUNT);
  };
  const [plain, rounded] = [await newest(false), await newest(true)];
  const length = (values: Float32Array) => Math.hypot(...values);
  const error = length(plain.map((value, i) => value - rounded[i]!)) / length(plain);
  expect(error).toBeGreaterThan(0);
  expect(error).toBeLessThan(0.05);
});

test("a snapshot goes on with the same frames", async () => {
  const engine = await engineOf();
  for (const red of REDS) await frameOf(engine, red);
  const state = await engine.save(1);
  const next = await frameOf(engine, undefined);
  await engine.restore(structuredClone(state), 1);
  expect(await frameOf(engine, undefined)).toEqual(next);
  await expect(engine.tell({ prompt: "a castle" })).rejects.toThrow(/prompt.*told words/);
  await engine.free();
});

test("a frame for two pictures is one program; in float8 its wide products are", () => {
  const count = (float8: boolean) => {
    const { graph, cost } = layoutGraph((g) => recordRandomChain(g, { seed: 0, pictures: 2, float8 }), {
      dtype: "f16",
    });
    const of = (op: string) => graph.rows.filter((row) => row.op === op).length;
    return { rows: of("conv") + of("linear"), wide: of("conv_q8") + of("linear_q8"), step: of("sampler_step"), cost };
  };
  const [plain, rounded] = [count(false), count(true)];
  expect([plain.wide, plain.step, rounded.step]).toEqual([1, 1, 1]);
  // The first convolution and the one to the picture of each network, and those of the part over two frames that see pictures.
  expect(rounded.rows).toBe(2 * 2 + 3);
  expect(rounded.wide + rounded.rows).toBe(plain.rows + 1);
  expect(plain.cost.flops).toBeGreaterThan(284e9);
});

test("in float8 norms round tokens by themselves, and what else a product reads is rounded by one launch before it", () => {
  const { graph } = layoutGraph((g) => recordRandomChain(g, { seed: 0, pictures: 2, float8: true }), { dtype: "f16" });
  const rows = (op: string) => graph.rows.filter((row) => row.op === op);
  const norms = new Set(rows("layer_norm_q8").flatMap(({ outputs }) => outputs.map((tensor) => tensor!.storage)));
  expect(norms.size).toBe(2 * 29);
  expect(rows("layer_norm")).toEqual([]);
  const codes = [...rows("linear_q8"), ...rows("conv_q8")].map(({ inputs }) => inputs[0]!.storage);
  expect(codes.filter((storage) => norms.has(storage))).toHaveLength(29);
  // One linear layer is the model's own in 8 bits: it turns levels to numbers.
  expect(rows("quantize")).toHaveLength(codes.length - 29 - 1);
  const scales = rows("quantize").map(({ outputs }) => outputs[1]!.dims.slice(0, 3).join("x"));
  expect(scales.filter((dims) => dims === "1x1x1")).toHaveLength(rows("conv_q8").length);
});

test.each<[LiveSessionOptions, RegExp]>([
  [{ strength: 0.4 }, /strength.*told words/],
  [{ guidance: "self" }, /guidance.*Stable Diffusion/],
  [{ size: { width: 24, height: 16 } }, /multiples of 16/],
  [{ precision: "float16" }, /precision.*float32 on the CPU/],
  [{ precision: "int3" as never }, /precision.*one of float32/],
])("refuses %j", async (options, message) => {
  await expect(createLiveSession({ random: "unet-chain", ...options })).rejects.toThrow(message);
});
