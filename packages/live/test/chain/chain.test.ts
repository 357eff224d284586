import { openDevice } from "@vd/kernels-native";
import {
  CpuGenerator,
  convNormAct,
  elementwise,
  layoutGraph,
  Plan,
  planesToPixels,
  randomWeights,
  tokens,
} from "@vd/tensor";
import { expect, test } from "vitest";
import { ChainBatches, type ChainBatchesOptions } from "../../src/chain/chain-batches";
import { recordInFloat8 } from "../../src/chain/float8";
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

test.each([{}, { leastWork: 0 }, { leastWork: 0, passesCodes: false }])(
  "products of wide layers in float8 change frames by little, %j",
  async (options) => {
    const newest = async (float8: ChainBatchesOptions["float8"]) => {
      const engine = await engineOf({ float8 });
      for (const red of REDS) await frameOf(engine, red);
      const { context } = await engine.save(1);
      await engine.free();
      return context.subarray(COUNT, 2 * COUNT);
    };
    const [plain, rounded] = [await newest(false), await newest(options)];
    const length = (values: Float32Array) => Math.hypot(...values);
    const error = length(plain.map((value, i) => value - rounded[i]!)) / length(plain);
    expect(error).toBeGreaterThan(0);
    expect(error).toBeLessThan(0.05);
  },
);

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

/** Every wide layer, with a launch that rounds what norms do not. */
const ALL = { leastWork: 0, passesCodes: false } as const;

test("a frame for two pictures is one program; in float8 its wide products are", () => {
  const count = (float8: false | typeof ALL) => {
    const { graph, cost } = layoutGraph((g) => recordRandomChain(g, { seed: 0, pictures: 2, float8 }), {
      dtype: "f16",
    });
    const of = (op: string) => graph.rows.filter((row) => row.op === op).length;
    return { rows: of("conv") + of("linear"), wide: of("conv_q8") + of("linear_q8"), step: of("sampler_step"), cost };
  };
  const [plain, rounded] = [count(false), count(ALL)];
  expect([plain.wide, plain.step, rounded.step]).toEqual([1, 1, 1]);
  // The first convolution and the one to the picture of each network, and those of the part over two frames that see pictures.
  expect(rounded.rows).toBe(2 * 2 + 3);
  expect(rounded.wide + rounded.rows).toBe(plain.rows + 1);
  expect(plain.cost.flops).toBeGreaterThan(284e9);
});

test("in float8 norms round tokens by themselves, and what else a product reads is rounded by one launch before it", () => {
  const { graph } = layoutGraph((g) => recordRandomChain(g, { seed: 0, pictures: 2, float8: ALL }), { dtype: "f16" });
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

test("in float8 convolutions of a block leave codes for each other, and passes are only where they pay", () => {
  const rowsOf = (float8: true | { leastWork: number }) => {
    const { graph } = layoutGraph((g) => recordRandomChain(g, { seed: 0, pictures: 2, float8 }), { dtype: "f16" });
    return (op: string) => graph.rows.filter((row) => row.op === op);
  };
  const all = rowsOf({ leastWork: 0 });
  expect(all("conv_q8_codes")).toHaveLength(64);
  const codes = new Set(all("conv_q8_codes").map(({ outputs }) => outputs[0]!.storage));
  const readers = [...all("conv_q8"), ...all("conv_q8_codes")].filter(({ inputs }) => codes.has(inputs[0]!.storage));
  expect(readers).toHaveLength(64);
  expect(all("quantize").filter(({ inputs }) => codes.has(inputs[0]!.storage))).toEqual([]);
  const some = rowsOf(true);
  for (const op of ["conv_q8", "conv_q8_codes", "linear_q8", "quantize"]) {
    expect(some(op).length, op).toBeGreaterThan(0);
    expect(some(op).length, op).toBeLessThan(all(op).length);
  }
  expect(some("layer_norm_q8")).toHaveLength(29);
});

test("a convolution that left codes is recorded once more for who reads its numbers", async () => {
  const channels = 64;
  const w = randomWeights(5);
  const layer = (i: number) =>
    convNormAct(w.at(i), { cin: channels, cout: channels, kernel: [1, 3, 3], names: { conv: "conv", norm: "bn" } });
  const [first, second] = [layer(0), layer(1)];
  const layoutOf = (float8: boolean) =>
    layoutGraph((g) => {
      if (float8) recordInFloat8(g, { leastWork: 0 });
      const a = first(g, g.input("x", [1, 1, 6, 6, channels]));
      const b = second(g, a);
      // Reads numbers that the second one took in 8 bits.
      const sum = elementwise(g, (e) => e.add(tokens(a), tokens(b)), { name: "sum" });
      g.output("sum", sum);
      g.output("b", b);
    });
  const ops = layoutOf(true).graph.rows.map(({ op }) => op);
  expect(ops).toEqual(["quantize", "conv_q8_codes", "conv_q8", "conv_q8", "elementwise"]);
  const x = new CpuGenerator(2).randn(36 * channels);
  const run = async (float8: boolean) => {
    const plan = await Plan.load(device, layoutOf(float8));
    plan.writeSync("x", x);
    await plan.run();
    const results = [plan.readSync("sum"), plan.readSync("b")] as Float32Array[];
    await plan.free();
    return results;
  };
  const [exact, rounded] = [await run(false), await run(true)];
  exact.forEach((values, i) => {
    const error = Math.hypot(...values.map((v, at) => v - rounded[i]![at]!)) / Math.hypot(...values);
    expect(error).toBeGreaterThan(1e-3);
    expect(error).toBeLessThan(0.06);
  });
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
