import { allocateBuffer, openDevice } from "@vd/kernels-native";
import { describe, expect, it } from "vitest";
import {
  attentionScale,
  CpuGenerator,
  fromFloat16Array,
  Graph,
  layoutGraph,
  makeStorage,
  type NormedProjection,
  Plan,
  projectionScale,
  type Tensor,
  toFloat16Array,
} from "../../src/index";

const cpu = openDevice("cpu", { threads: 1 });
const [CHANNELS, RESULTS, TOKENS] = [64, 192, 300];
const random = new CpuGenerator(5);
const normals = (count: number, deviation = 1, mean = 0) =>
  Float32Array.from(random.randn(count), (v) => mean + deviation * v);

/** The largest code that queries and keys may have. */
const MOST = 28;

const numberIn = ({ storage }: Tensor) =>
  new Float32Array(storage.place!.buffer.readSync(new Uint8Array(4)).buffer)[0]!;

/** The number that a scale holds, as a plan reads it. */
async function scaleOf(layer: NormedProjection): Promise<number> {
  const scale = projectionScale(layer);
  await scale.storage.fill!();
  return numberIn(scale);
}

/** The largest magnitude of a layer's results, of tokens that a norm leaves. */
async function largestOf({ normWeight, normBias, weight, bias }: NormedProjection, x: Float32Array): Promise<number> {
  const layout = layoutGraph((g) => {
    const tokens = g.input("x", [1, 1, x.length / CHANNELS, CHANNELS], "f32");
    const y = g.layerNorm({ x: tokens, weight: normWeight, bias: normBias, eps: 1e-5 });
    g.output("y", g.linear({ x: y, weight, bias }));
  });
  const plan = await Plan.load(cpu, layout);
  try {
    await plan.write("x", x);
    await plan.run();
    return Math.max(...((await plan.read("y")) as Float32Array).map(Math.abs));
  } finally {
    plan.freeSync();
  }
}

const g = new Graph();
const layer: NormedProjection = {
  normWeight: g.constant(normals(CHANNELS, 0.3, 1), [CHANNELS]),
  normBias: g.constant(normals(CHANNELS, 0.2), [CHANNELS]),
  weight: g.constant(normals(RESULTS * CHANNELS, 1 / Math.sqrt(CHANNELS)), [RESULTS, CHANNELS]),
  bias: g.constant(normals(RESULTS, 0.1), [RESULTS]),
};

describe("the scale of codes for queries, keys and values", () => {
  it("leaves no code above 28, also of tokens that lie as a row of the weight does", async () => {
    const { normBias: _, bias: __, ...bare } = layer;
    const plain = g.constant(new Float32Array(CHANNELS).fill(1), [CHANNELS]);
    const row = normals(CHANNELS);
    const mean = row.reduce((sum, v) => sum + v, 0) / CHANNELS;
    const along = {
      ...bare,
      normWeight: plain,
      weight: g.constant(
        row.map((v) => v - mean),
        [1, CHANNELS],
      ),
    };
    // A norm leaves it as it is but for its length, so that the product is as large as any can be.
    const reached = (await largestOf(along, row)) / (await scaleOf(along));
    expect(reached).toBeGreaterThan(MOST * 0.999);
    expect(reached).toBeLessThanOrEqual(MOST * 1.0001);
  });

  it("has usual results use float8's range of full precision", async () => {
    const largest = (await largestOf(layer, normals(TOKENS * CHANNELS, 3, 1))) / (await scaleOf(layer));
    expect(largest).toBeLessThanOrEqual(MOST);
    expect(largest).toBeGreaterThan(MOST / 8);
  });

  it("is the same where it is needed before a plan is loaded", async () => {
    expect(numberIn(projectionScale(layer))).toBe(await scaleOf(layer));
  });

  it("is sixteen times that of attention's results, which are means of values", async () => {
    const scale = attentionScale(projectionScale(layer));
    await scale.storage.fill!();
    expect(numberIn(scale) * 16).toBeCloseTo(await scaleOf(layer), 6);
  });

  it("is the same of a weight of 16 bits, read a part after the other", async () => {
    const [rows, width] = [2100, 256];
    const numbers = normals(rows * width, 0.05);
    numbers[2050 * width + 7] = 3; // the largest lies in the last part
    const halves = toFloat16Array(numbers);
    const norm = { normWeight: g.constant(normals(width, 0.3, 1), [width]) };
    const wide = g.constant(fromFloat16Array(halves), [rows, width]);
    const buffer = allocateBuffer(halves.byteLength);
    buffer.writeSync(halves);
    const storage = makeStorage("weights", halves.byteLength, "halves", { buffer, byteOffset: 0 });
    const narrow: Tensor = { ...wide, storage, dtype: "f16" };
    expect(await scaleOf({ ...norm, weight: narrow })).toBe(await scaleOf({ ...norm, weight: wide }));
  });

  it("grows with biases, and is that of weights without them where there are none", async () => {
    const { normBias: _, bias: __, ...bare } = layer;
    expect(await scaleOf(layer)).toBeGreaterThan(await scaleOf(bare));
    const shifted = { ...layer, bias: g.constant(normals(RESULTS, 0.1, 100), [RESULTS]) };
    expect((await scaleOf(shifted)) * MOST).toBeGreaterThan(100);
  });
});
