import { openDevice } from "@vd/kernels-native";
import { describe, expect, it } from "vitest";
import { CpuGenerator, FLOAT8_E4M3_MAX, type GatedLayer, Graph, gatedScale, layoutGraph, Plan } from "../../src/index";

const cpu = openDevice("cpu", { threads: 1 });
const [CHANNELS, RESULTS, TOKENS] = [64, 320, 200];
const random = new CpuGenerator(7);
const normals = (count: number, deviation = 1, mean = 0) =>
  Float32Array.from(random.randn(count), (v) => mean + deviation * v);

/** The number that a scale holds, as a plan reads it. */
async function scaleOf(layer: GatedLayer): Promise<number> {
  const scale = gatedScale(layer);
  await scale.storage.fill!();
  const bytes = scale.storage.place!.buffer.readSync(new Uint8Array(4));
  return new Float32Array(bytes.buffer)[0]!;
}

/** Root mean square of a layer's results, of tokens that a norm leaves. */
async function sizeOf({ normWeight, normBias, weight, bias, act }: GatedLayer): Promise<number> {
  const layout = layoutGraph((g) => {
    const x = g.input("x", [1, 1, TOKENS, CHANNELS], "f32");
    const y = g.layerNorm({ x, weight: normWeight, bias: normBias, eps: 1e-5 });
    g.output("y", g.linear({ x: y, weight, bias, act }));
  });
  const plan = await Plan.load(cpu, layout);
  try {
    await plan.write("x", normals(TOKENS * CHANNELS, 3, 1));
    await plan.run();
    const y = (await plan.read("y")) as Float32Array;
    return Math.sqrt(y.reduce((sum, v) => sum + v * v, 0) / y.length);
  } finally {
    plan.freeSync();
  }
}

const g = new Graph();
const layer = (act: GatedLayer["act"], gateMean = 0, factor = 1): GatedLayer => ({
  normWeight: g.constant(normals(CHANNELS, 0.3, 1), [CHANNELS]),
  normBias: g.constant(normals(CHANNELS, 0.2), [CHANNELS]),
  weight: g.constant(normals(2 * RESULTS * CHANNELS, factor / Math.sqrt(CHANNELS)), [2 * RESULTS, CHANNELS]),
  bias: g.constant(
    normals(2 * RESULTS, 0.1).map((v, i) => (i < RESULTS ? v : v + gateMean)),
    [2 * RESULTS],
  ),
  act,
});

describe("the scale of a gated layer's codes", () => {
  it.each([
    ["geglu", layer("geglu")],
    ["swiglu", layer("swiglu")],
    ["gates that are nearly shut", layer("geglu", -3)],
    ["large weights", layer("geglu", 0, 20)],
  ])("has room for 1024 times the size of results: %s", async (_, each) => {
    const largest = (await scaleOf(each)) * FLOAT8_E4M3_MAX;
    const ratio = largest / (await sizeOf(each));
    expect(ratio).toBeGreaterThan(1024 / 1.5);
    expect(ratio).toBeLessThan(1024 * 1.5);
  });

  it("is that of weights without biases, the same whether it is made at once or in pieces", async () => {
    const { normBias: _, bias: __, ...bare } = layer("geglu");
    const made = await scaleOf(bare);
    expect(made).toBeGreaterThan(0);
    const bytes = gatedScale(bare).storage.place!.buffer.readSync(new Uint8Array(4));
    expect(new Float32Array(bytes.buffer)[0]).toBe(made);
  });
});
