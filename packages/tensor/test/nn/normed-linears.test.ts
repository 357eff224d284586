import { openDevice } from "@vd/kernels-native";
import { describe, expect, it } from "vitest";
import {
  Graph,
  isNormedLinear,
  type LayerNormOptions,
  type LinearOptions,
  layoutGraph,
  normedLinears,
  Plan,
  type Tensor,
} from "../../src/index";

const CHANNELS = 320;

/** A graph that records norms inside layers, with tokens of 4 frames. */
function normedGraph(
  tokens = 1024,
  channels = CHANNELS,
  dtype: "f16" | "bf16" | "f32" = "f16",
): { g: Graph; x: Tensor } {
  const g = new Graph({ dtype });
  g.rewriteCalls(normedLinears());
  return { g, x: g.input("x", [1, 4, tokens, channels]) };
}

const constant = (g: Graph, ...dims: number[]) =>
  g.constant(new Float32Array(dims.reduce((product, size) => product * size, 1)), dims);

function normed(g: Graph, x: Tensor, more: Partial<LayerNormOptions> = {}): Tensor {
  const channels = x.dims[3]!;
  return g.layerNorm({
    ...{ name: "norm", x, weight: constant(g, channels), bias: constant(g, channels), eps: 1e-5 },
    ...more,
  });
}

/** A layer to 64 columns. */
const layer = (g: Graph, x: Tensor, more: Partial<LinearOptions> = {}): Tensor =>
  g.linear({ name: "layer", x, weight: constant(g, 64, x.dims[3]! + (more.x2?.dims[3] ?? 0)), ...more });

const opsOf = ({ rows }: Graph) => rows.map(({ op }) => op);

/** Ops of a norm and a layer behind it. */
function opsFor(
  { g, x }: { g: Graph; x: Tensor },
  norm: Partial<LayerNormOptions> = {},
  linear: Partial<LinearOptions> = {},
) {
  g.output("y", layer(g, normed(g, x, norm), linear));
  return opsOf(g);
}

const FUSED = ["layer_norm_linear"];
const APART = ["layer_norm", "linear"];

describe("norms inside linear layers", () => {
  it("are one call that reads what was normalised, with everything that the layer had", () => {
    const { g, x } = normedGraph();
    const residual = g.input("residual", [1, 4, 1024, 32]);
    const bias = constant(g, 64);
    const y = layer(g, normed(g, x), { bias, residual, act: "geglu", outScale: 0.5 });
    expect(g.rows.map(({ op, name }) => [op, name])).toEqual([["layer_norm_linear", "layer"]]);
    expect(y.dims).toEqual([1, 4, 1024, 32]);
    expect(g.rows[0]!.inputs[0]!.storage).toBe(x.storage);
    expect(g.rows[0]!.inputs).toEqual(expect.arrayContaining([bias, residual]));
  });

  it("need neither weight nor bias of the norm", () => {
    expect(opsFor(normedGraph(), { weight: undefined, bias: undefined })).toEqual(FUSED);
  });

  it("are recorded for bfloat16 too", () => {
    expect(opsFor(normedGraph(1024, CHANNELS, "bf16"))).toEqual(FUSED);
  });

  it.each([
    ["float32", () => opsFor(normedGraph(1024, CHANNELS, "f32"))],
    ["fewer tokens than leave a cache", () => opsFor(normedGraph(1023))],
    ["channels of which a tile does not hold a token", () => opsFor(normedGraph(1024, 640))],
    [
      "a norm that is modulated",
      () => {
        const { g, x } = normedGraph();
        return opsFor({ g, x }, { scale: g.input("scale", [1, 1, 1, CHANNELS]) });
      },
    ],
    [
      "a layer of further channels",
      () => {
        const { g, x } = normedGraph();
        return opsFor({ g, x }, {}, { x2: g.input("x2", [1, 4, 1024, 8]) });
      },
    ],
  ])("stay two calls for %s", (_, ops) => {
    expect(ops()).toEqual(APART);
  });

  it("stay two calls where something else reads the norm first, or nothing does", () => {
    const read = normedGraph();
    const n = normed(read.g, read.x);
    read.g.output("n", n);
    layer(read.g, n);
    expect(opsOf(read.g)).toEqual(APART);
    const unread = normedGraph();
    normed(unread.g, unread.x);
    unread.g.output("x again", unread.x);
    expect(opsOf(unread.g)).toEqual(["layer_norm"]);
  });

  it("leave layers without a norm as they are", () => {
    const { g, x } = normedGraph();
    layer(g, x);
    expect(opsOf(g)).toEqual(["linear"]);
  });

  it("cannot be read by a second layer", () => {
    const { g, x } = normedGraph();
    const n = normed(g, x);
    layer(g, n);
    expect(() => layer(g, n, { name: "second" })).toThrow(
      "[second] expected a norm's result that is read by one product",
    );
  });

  it("are decided by the tokens of a clip: rows of guidance have the same bits together and apart", () => {
    const norm = (clips: number, tokens: number) => {
      const g = new Graph({ dtype: "f16" });
      return { x: g.input("x", [clips, 2, tokens, CHANNELS]) };
    };
    expect(isNormedLinear({ norm: norm(1, 2048), linear: {} })).toBe(true);
    expect(isNormedLinear({ norm: norm(1, 2047), linear: {} })).toBe(false);
    expect(isNormedLinear({ norm: norm(2, 2047), linear: {} })).toBe(false);
  });

  it("give the numbers of the two ops on the CPU, to rounding", async () => {
    const [tokens, columns] = [700, 24];
    const values = (count: number, seed: number) =>
      Float32Array.from({ length: count }, (_, i) => Math.sin(i * 0.37 + seed) + Math.cos(i * i * 0.011 + seed));
    const given = values(4 * tokens * CHANNELS, 1);
    const results = async (isFused: boolean) => {
      const layout = layoutGraph((g) => {
        const [x, weight, bias, normWeight, normBias] = [
          g.input("x", [1, 4, tokens, CHANNELS]),
          g.constant(values(2 * columns * CHANNELS, 2), [2 * columns, CHANNELS]),
          g.constant(values(2 * columns, 3), [2 * columns]),
          g.constant(values(CHANNELS, 4), [CHANNELS]),
          g.constant(values(CHANNELS, 5), [CHANNELS]),
        ];
        const [eps, act] = [1e-5, "geglu" as const];
        const apart = () =>
          g.linear({ x: g.layerNorm({ x, weight: normWeight, bias: normBias, eps }), weight, bias, act });
        g.output("y", isFused ? g.layerNormLinear({ x, weight, normWeight, normBias, eps, bias, act }) : apart());
      });
      const plan = await Plan.load(openDevice("cpu"), layout);
      try {
        plan.writeSync("x", given);
        await plan.run();
        return plan.readSync("y");
      } finally {
        plan.freeSync();
      }
    };
    const [fused, apart] = [await results(true), await results(false)];
    const worst = fused.reduce((most, value, i) => Math.max(most, Math.abs(value - apart[i]!)), 0);
    const rms = Math.sqrt(apart.reduce((sum, value) => sum + value * value, 0) / apart.length);
    expect(rms).toBeGreaterThan(0.1);
    expect(worst / rms).toBeLessThan(2e-5);
  });
});
