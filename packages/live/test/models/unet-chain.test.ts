import { allocateBuffer, countOf, openDevice } from "@vd/kernels-native";
import { CpuGenerator, type Graph, layoutGraph, makeStorage, Plan, randomWeights, Weights } from "@vd/tensor";
import { expect, test } from "vitest";
import {
  checkUnetChainConfig,
  REFERENCE_UNET_CHAIN,
  type UnetChainConfig,
  unetChain,
  unetChainSize,
} from "../../src/index";
import { type Planes, UnetChainReference } from "../support/unet-chain-reference";

const TINY: UnetChainConfig = {
  ...REFERENCE_UNET_CHAIN,
  ...{ baseChannels: [8, 4], heads: 2, timeChannels: 8, temporalChannels: 8 },
};
const device = openDevice("cpu", { threads: 1 });
const [HEIGHT, WIDTH] = [32, 16];

/** Weights in float32 by their names, those that are there at last. */
function namedWeights(): {
  weights: Weights;
  numbers: Map<string, Float32Array>;
  shapes: Map<string, readonly number[]>;
} {
  const numbers = new Map<string, Float32Array>();
  const shapes = new Map<string, readonly number[]>();
  const generator = new CpuGenerator(3);
  const weights = Weights.made("test", (name, dims) => {
    const count = countOf(dims);
    const unit = generator.randn(count);
    const spread = dims.length > 1 ? 1 / Math.sqrt(countOf(dims.slice(1))) : 0.2;
    const centre = dims.length === 1 && /weight$|running_var$/.test(name) ? 1.2 : 0;
    const data = unit.map((value) => centre + spread * Math.max(-3, Math.min(3, value)));
    const buffer = allocateBuffer(data.byteLength);
    buffer.writeSync(data);
    numbers.set(name, data);
    shapes.set(name, dims);
    const storage = makeStorage("weights", data.byteLength, name, { buffer, byteOffset: 0 });
    return { dtype: "f32", shape: [...dims], storage, byteOffset: 0 };
  });
  return { weights, numbers, shapes };
}

/** A picture as planes, and its pixels with room for `room` channels, filled with `filler`. */
function picture(seed: number, room: number, filler: number): { planes: Planes; pixels: Float32Array } {
  const area = HEIGHT * WIDTH;
  const data = Float64Array.from(new CpuGenerator(seed).randn(3 * area));
  const pixels = new Float32Array(area * room).fill(filler);
  for (let c = 0; c < 3; c++) for (let at = 0; at < area; at++) pixels[at * room + c] = data[c * area + at]!;
  return { planes: { channels: 3, height: HEIGHT, width: WIDTH, data }, pixels };
}

const join = (parts: readonly Float32Array[]) => Float32Array.from(parts.flatMap((part) => [...part]));

/** The largest difference of pixels of one picture from planes, over the planes' root mean square. */
function difference(pixels: Float32Array, { channels, height, width, data }: Planes): number {
  const area = height * width;
  let [worst, square] = [0, 0];
  for (let at = 0; at < area; at++)
    for (let c = 0; c < channels; c++) {
      const wanted = data[c * area + at]!;
      worst = Math.max(worst, Math.abs(pixels[at * channels + c]! - wanted));
      square += wanted * wanted;
    }
  return worst / Math.sqrt(square / data.length);
}

const TIMESTEPS = [0.4, -1.1, 2.3];

function record(weights: Weights, pictures: number, config = TINY) {
  const net = unetChain(weights, config);
  return (g: Graph) => {
    const time = g.empty([1, pictures, 1, net.timeWidth]);
    net.conditionTime(g, g.input("timestep", [1, pictures], "f32"), time);
    const sample = g.input("sample", [1, pictures, HEIGHT, WIDTH, 16]);
    const previous = g.input("previous", [1, pictures, HEIGHT, WIDTH, 3]);
    g.output("y", net.forward(g, { sample, previous, time }));
  };
}

test("every stage of three pictures is what plain loops in float64 say, whatever lay in memory before", async () => {
  const { weights, numbers } = namedWeights();
  const layout = layoutGraph(record(weights, 3), { taps: new Set(["*"]) });
  const arena = await device.allocate(Math.max(layout.memory.arenaBytes, 1));
  // All bits set are no numbers in float32.
  arena.fillSync(0xff);
  const plan = await Plan.load(device, layout, { arena });
  const [samples, before] = [0, 1].map((which) => TIMESTEPS.map((_, i) => picture(2 * i + which, which ? 3 : 16, 7)));
  plan.writeSync("timestep", TIMESTEPS);
  plan.writeSync("sample", join(samples!.map(({ pixels }) => pixels)));
  plan.writeSync("previous", join(before!.map(({ pixels }) => pixels)));
  await plan.run();
  const weightOf = (name: string) => numbers.get(name.replace(".in_proj.", ".in_proj_"))!;
  for (const [i, timestep] of TIMESTEPS.entries()) {
    const reference = new UnetChainReference(weightOf, TINY);
    reference.run(samples![i]!.planes, before![i]!.planes, timestep);
    expect(reference.stages.size).toBe(2 * 19 + 1);
    for (const [name, planes] of reference.stages) {
      const all = plan.readSync(name);
      const own = all.subarray(i * planes.data.length, (i + 1) * planes.data.length);
      expect(difference(own, planes), name).toBeLessThan(1e-5);
    }
  }
  await plan.free();
  await arena.free();
});

test("heads of a few channels are filled up with zeros, so that kernels move them 16 bytes at a time", () => {
  const config = { ...TINY, heads: 2, baseChannels: [24, 12], temporalChannels: 24 };
  const { rows } = layoutGraph(record(randomWeights(0), 1, config)).graph;
  const widths = rows.filter(({ op }) => op === "attention").map(({ inputs }) => inputs[0]!.dims.at(-1)!);
  // 24 channels become 32, and 12 become 16; heads of the others are multiples of eight.
  expect(new Set(widths)).toEqual(new Set([16, 32, 48, 96, 192, 384]));
});

test("a convolution, its batch norm, its SiLU and the noise level are one row", () => {
  const { rows: all } = layoutGraph(record(namedWeights().weights, 1)).graph;
  const rows = all.filter(({ name }) => !name.startsWith("time_"));
  const count = (op: string) => rows.filter((row) => row.op === op).length;
  // Eleven blocks of four convolutions and one to the picture in each network.
  expect(count("conv")).toBe(2 * (11 * 4 + 1));
  expect([count("batch_norm"), count("copy")]).toEqual([0, 0]);
  expect([count("pool"), count("resize"), count("attention")]).toEqual([2 * 4 + 2, 2 * 4 + 1, 2 * 7 + 1]);
});

test("the reference has 880.26 million parameters and takes 285 GFLOP for two pictures of 64 x 64", () => {
  const size = unetChainSize(REFERENCE_UNET_CHAIN, { pictures: 2, height: 64, width: 64 });
  expect(size).toEqual({ parameters: 880_260_393, flops: 284_864_741_376 });
  const net = unetChain(randomWeights(0), REFERENCE_UNET_CHAIN);
  const layout = layoutGraph((g) => {
    const [sample, previous] = [g.input("sample", [1, 2, 64, 64, 16]), g.input("previous", [1, 2, 64, 64, 3])];
    g.output("y", net.forward(g, { sample, previous, time: g.input("time", [1, 1, 1, net.timeWidth]) }));
  });
  const products = layout.graph.rows.filter(({ op }) => op === "conv" || op === "linear" || op === "attention");
  // The first convolutions' filters have zeros for the channels that pictures have no use for, which are counted there.
  const pictures = 2 * 2 * 9 * 64 * 64 * (192 + 96) * (16 - 3);
  // So have the rows and columns that fill heads of 12 channels up to 16, and of 6 up to 8: four products with weights, two without.
  const heads = (tokens: number, channels: number, more: number) =>
    2 * 2 * (4 * tokens * channels + 2 * tokens * tokens) * more;
  const small = 2 * heads(1024, 192, 64) + heads(1024, 96, 32) + heads(256, 192, 64);
  const temporal = 2 * 2 * 256 * (2 * 3 * 192 + 192 + 8) * 64;
  const padding = pictures + small + temporal;
  expect(products.reduce((sum, { flops }) => sum + flops, 0) - padding).toBe(size.flops);
});

test("the parameters are those that modules ask for", () => {
  const { weights, shapes } = namedWeights();
  unetChain(weights, TINY);
  const learned = [...shapes].filter(([name]) => !name.includes("running_"));
  const { parameters } = unetChainSize(TINY, { pictures: 1, height: HEIGHT, width: WIDTH });
  expect(parameters).toBe(learned.reduce((sum, [, dims]) => sum + countOf(dims), 0));
});

test.each([
  [{ heads: 7 }, /heads.*divisor of/],
  [{ multipliers: [1] }, /multipliers/],
  [{ baseChannels: [] }, /baseChannels/],
  [{ baseChannels: [8, 0.5] }, /baseChannels/],
  [{ convsPerBlock: 0 }, /convsPerBlock/],
  [{ timeChannels: 7 }, /even number/],
  [{ middleMultipliers: [4, -1] }, /middleMultipliers/],
])("refuses the configuration %j", (change, message) => {
  expect(() => checkUnetChainConfig({ ...TINY, ...change })).toThrow(message);
  expect(() => unetChain(randomWeights(0), { ...TINY, ...change })).toThrow(message);
});

test("refuses pictures that do not halve on every level, and a previous frame of another size", () => {
  const net = unetChain(randomWeights(0), TINY);
  const call = (sample: number[], previous: number[]) => () =>
    layoutGraph((g) => {
      const time = g.input("time", [1, 1, 1, net.timeWidth]);
      net.forward(g, { sample: g.input("x", sample), previous: g.input("p", previous), time });
    });
  expect(call([1, 1, 24, 16, 16], [1, 1, 24, 16, 3])).toThrow(/multiples of 16/);
  expect(call([1, 1, 16, 16, 3], [1, 1, 16, 16, 3])).toThrow(/\[1,F,H,W,16\]/);
  expect(call([1, 2, 16, 16, 16], [1, 1, 16, 16, 3])).toThrow(/previous/);
});
