import { OPS, type OpId } from "@vd/kernels-native";
import { describe, expect, test } from "vitest";
import { Graph } from "../src/graph";
import { opMethod } from "../src/op-method";
import { layoutGraph } from "../src/plan/layout";
import { channelRange, type Tensor } from "../src/tensor";
import { failure } from "./support/failure";

test("sizes of named, empty and constant tensors are whole numbers from 1 on", () => {
  for (const dims of [[1, -2], [1, 0], [1.5], [2 ** 40, 2 ** 40]]) {
    const g = new Graph();
    expect(failure(() => g.input("x", dims))).toMatchObject({ code: "shape", where: "x" });
    expect(failure(() => g.state("s", dims))).toMatchObject({ code: "shape", where: "s" });
    expect(failure(() => g.empty(dims)).code).toBe("shape");
    expect(failure(() => g.constant(new Float32Array(2), dims)).code).toBe("shape");
  }
  expect(failure(() => new Graph().constant(new Float32Array(3), [2, 2])).message).toContain(
    "4 numbers for f32[2,2], got 3",
  );
});

/** A call that does not fit, by what is wrong with it. The types forbid most; JavaScript callers have no types. */
const WRONG: Readonly<
  Record<string, (g: Graph, t: (dims: number[], dtype?: "f32" | "f16" | "i32") => Tensor) => unknown>
> = {
  "missing operand": (g, t) => g.linear({ name: "m", x: t([1, 1, 2, 3]), weight: undefined as never }),
  "no tensor": (g, t) => g.linear({ name: "m", x: t([1, 1, 2, 3]), weight: 5 as never }),
  rank: (g, t) => g.conv({ name: "m", x: t([1, 2, 2, 3]), weight: t([4, 3, 1, 1, 1]) }),
  "element type": (g, t) => g.layerNorm({ name: "m", x: t([1, 1, 2, 3], "i32"), weight: t([3]), bias: t([3]), eps: 0 }),
  "inner size": (g, t) => g.linear({ name: "m", x: t([1, 1, 2, 3]), weight: t([4, 5]) }),
  "inner size of two inputs": (g, t) =>
    g.linear({ name: "m", x: t([1, 1, 2, 3]), x2: t([1, 1, 2, 3]), weight: t([4, 5]) }),
  "size of the second": (g, t) => g.pointwise({ name: "m", a: t([1, 1, 2, 3]), b: t([1, 1, 3, 3]) }),
  "broadcast size": (g, t) => g.linear({ name: "m", x: t([4, 6, 2, 3]), weight: t([4, 3]), frameBias: t([4, 5, 4]) }),
  bias: (g, t) => g.conv({ name: "m", x: t([1, 1, 2, 2, 3]), weight: t([4, 3, 1, 1, 1]), bias: t([3]) }),
  residual: (g, t) =>
    g.conv({ name: "m", x: t([1, 1, 4, 4, 3]), weight: t([4, 3, 1, 3, 3]), residual: t([1, 1, 4, 4, 4]) }),
  "kernel too large": (g, t) => g.conv({ name: "m", x: t([1, 1, 2, 2, 3]), weight: t([4, 3, 1, 3, 3]) }),
  "geglu in conv": (g, t) => g.conv({ name: "m", x: t([1, 1, 2, 2, 3]), weight: t([4, 3, 1, 1, 1]), act: "geglu" }),
  "odd geglu": (g, t) => g.linear({ name: "m", x: t([1, 1, 2, 3]), weight: t([5, 3]), act: "geglu" }),
  groups: (g, t) => g.groupNorm({ name: "m", x: t([1, 1, 2, 2, 9]), weight: t([9]), bias: t([9]), groups: 2, eps: 0 }),
  "no groups": (g, t) =>
    g.groupNorm({ name: "m", x: t([1, 1, 2, 2, 9]), weight: t([9]), bias: t([9]), groups: 0, eps: 0 }),
  "missing attribute": (g, t) =>
    g.layerNorm({ name: "m", x: t([1, 1, 2, 3]), weight: t([3]), bias: t([3]), eps: undefined as never }),
  "not a number": (g, t) =>
    g.layerNorm({ name: "m", x: t([1, 1, 2, 3]), weight: t([3]), bias: t([3]), eps: Number.NaN }),
  "negative eps": (g, t) => g.layerNorm({ name: "m", x: t([1, 1, 2, 3]), weight: t([3]), bias: t([3]), eps: -1 }),
  "fractional stride": (g, t) =>
    g.conv({ name: "m", x: t([1, 1, 2, 2, 3]), weight: t([4, 3, 1, 1, 1]), stride: [1, 1.5, 1] }),
  "short padding": (g, t) =>
    g.conv({ name: "m", x: t([1, 1, 2, 2, 3]), weight: t([4, 3, 1, 1, 1]), padding: [1, 1] as never }),
  "unknown activation": (g, t) => g.pointwise({ name: "m", a: t([1, 1, 2, 3]), act: "elu" as never }),
  "no boolean": (g, t) =>
    g.conv({ name: "m", x: t([1, 1, 2, 2, 3]), weight: t([4, 3, 1, 1, 1]), upsample: 1 as never }),
  "unknown argument": (g, t) => g.pointwise({ name: "m", a: t([1, 1, 2, 3]), activation: "silu" } as never),
  "c without b": (g, t) => g.pointwise({ name: "m", a: t([1, 1, 2, 3]), c: t([1, 1, 2, 3]) }),
  "heads that do not divide": (g, t) =>
    g.attention({ name: "m", q: t([1, 1, 2, 8]), k: t([1, 1, 2, 8]), v: t([1, 1, 2, 8]), heads: 3, scale: 1 }),
  "keys of some frames": (g, t) =>
    g.attention({ name: "m", q: t([1, 5, 2, 8]), k: t([1, 3, 2, 8]), v: t([1, 3, 2, 8]), heads: 2, scale: 1 }),
  "mask of tokens over time": (g, t) =>
    g.attention({
      name: "m",
      q: t([1, 3, 2, 8]),
      k: t([1, 3, 2, 8]),
      v: t([1, 3, 2, 8]),
      mask: t([1, 1, 2, 2]),
      heads: 2,
      scale: 1,
      axis: "time",
    }),
  "half of the offsets": (g, t) =>
    g.attention({
      name: "m",
      q: t([1, 1, 2, 8]),
      k: t([1, 1, 2, 8]),
      v: t([1, 1, 2, 8]),
      cuQ: t([2], "i32"),
      heads: 2,
      scale: 1,
    }),
  "one row to guide": (g, t) => g.guide({ name: "m", x: t([1, 2, 2, 2, 4]), scale: t([2]) }),
  "two clips of latents": (g, t) =>
    g.denoiseInput({ name: "m", latents: t([2, 2, 2, 2, 4]), image: t([2, 1, 2, 2, 4]), inputScale: t([2]), rows: 2 }),
  "blocks that do not fit": (g, t) => g.spaceToDepth({ name: "m", x: t([1, 1, 5, 4, 3]), block: [1, 2, 2] }),
  "channels of no block": (g, t) => g.depthToSpace({ name: "m", x: t([1, 1, 5, 4, 6]), block: [1, 2, 2] }),
  "odd width": (g, t) => g.timestepEmbedding({ name: "m", t: t([1, 3]), width: 7 }),
  "place of another shape": (g, t) => g.pointwise({ name: "m", a: t([1, 1, 2, 3]), out: t([1, 1, 3, 2]) }),
  "place of another type": (g, t) => g.pointwise({ name: "m", a: t([1, 1, 2, 3]), out: t([1, 1, 2, 3], "i32") }),
  "place outside its memory": (g, t) =>
    g.pointwise({ name: "m", a: t([1, 1, 2, 3]), out: { ...t([1, 1, 2, 3]), byteOffset: 4 } }),
  "place of the second result": (g, t) =>
    g.attention({
      name: "m",
      q: t([1, 1, 2, 8]),
      k: t([1, 1, 2, 8]),
      v: t([1, 1, 2, 8]),
      heads: 2,
      scale: 1,
      outputs: { lse: t([1, 1, 2, 3]) },
    }),
  "unknown second result": (g, t) => g.copy({ name: "m", x: t([1, 1, 2, 8]), outputs: { lse: t([1, 1, 2, 3]) } }),
};

describe("a call that does not fit", () => {
  test("is an error that names row, op, argument, what was expected and what came", () => {
    const table = Object.entries(WRONG).map(([what, call]) => {
      const g = new Graph();
      let inputs = 0;
      const error = failure(() => call(g, (dims, dtype = "f32") => g.input(`t${inputs++}`, dims, dtype)));
      expect(g.rows, `${what}: nothing is recorded`).toHaveLength(0);
      expect(error.where.split("] [").length, `${what}: row, op and argument`).toBe(3);
      expect(error.where.startsWith("m] [")).toBe(true);
      return `${what}: ${error.code}: ${error.message}`;
    });
    expect(table).toMatchInlineSnapshot(`
      [
        "missing operand: attr: [m] [linear] [weight] expected a tensor, got nothing",
        "no tensor: attr: [m] [linear] [weight] expected a tensor, got number",
        "rank: shape: [m] [conv] [x] expected 5 dimensions, got f32[1,2,2,3]",
        "element type: dtype: [m] [layer_norm] [x] expected f32 or f16 or bf16, got i32[1,1,2,3]",
        "inner size: shape: [m] [linear] [weight] expected [4,3], got f32[4,5]",
        "inner size of two inputs: shape: [m] [linear] [weight] expected [4,6], got f32[4,5]",
        "size of the second: shape: [m] [pointwise] [b] expected [1,1,2,3], got f32[1,1,3,3]",
        "broadcast size: shape: [m] [linear] [frameBias] expected [1|4,1|6,4], got f32[4,5,4]",
        "bias: shape: [m] [conv] [bias] expected [4], got f32[3]",
        "residual: shape: [m] [conv] [residual] expected [1,1,2,2,4], got f32[1,1,4,4,4]",
        "kernel too large: attr: [m] [conv] [H] expected a padded size of at least the kernel's, got 2",
        "geglu in conv: attr: [m] [conv] [act] expected an activation that keeps the number of channels, got geglu",
        "odd geglu: attr: [m] [linear] [weight] expected an even number of rows for geglu and swiglu, got 5",
        "groups: attr: [m] [group_norm] [groups] expected a divisor of the channels, got 2",
        "no groups: attr: [m] [group_norm] [groups] expected a whole number from 1 to 65536, got 0",
        "missing attribute: attr: [m] [layer_norm] [eps] expected a number from 0 to 3.4e+38, got undefined",
        "not a number: attr: [m] [layer_norm] [eps] expected a number from 0 to 3.4e+38, got NaN",
        "negative eps: attr: [m] [layer_norm] [eps] expected a number from 0 to 3.4e+38, got -1",
        "fractional stride: attr: [m] [conv] [stride] expected a whole number from 1 to 64, got 1.5",
        "short padding: attr: [m] [conv] [padding] expected a list of 6 numbers, got [1,1]",
        "unknown activation: attr: [m] [pointwise] [act] expected one of none, silu, gelu, gelu_tanh, quick_gelu, relu, got elu",
        "no boolean: attr: [m] [conv] [upsample] expected true or false, got 1",
        "unknown argument: attr: [m] [pointwise] [activation] expected one of a, b, c, frameBias, aScale, bScale, act, name, out, outputs, got an unknown argument",
        "c without b: attr: [m] [pointwise] [c] expected b where c is given, got 1",
        "heads that do not divide: attr: [m] [attention] [heads] expected a divisor of the channels, got 3",
        "keys of some frames: attr: [m] [attention] [k] expected 1 frame or as many as q over space, got 3",
        "mask of tokens over time: shape: [m] [attention] [mask] expected [1,1|2,1|3,3], got f32[1,1,2,2]",
        "half of the offsets: attr: [m] [attention] [cuQ] expected cuQ and cuK both or neither, got 1",
        "one row to guide: attr: [m] [guide] [x] expected two rows: unconditional, conditional, got 1",
        "two clips of latents: attr: [m] [denoise_input] [latents] expected one clip, got 2",
        "blocks that do not fit: attr: [m] [space_to_depth] [x] expected H to be a multiple of the block, got 5",
        "channels of no block: attr: [m] [depth_to_space] [x] expected channels that are a multiple of the block, got 6",
        "odd width: attr: [m] [timestep_embedding] [width] expected an even number, got 7",
        "place of another shape: shape: [m] [pointwise] [out] expected f32[1,1,2,3], got f32[1,1,3,2]",
        "place of another type: dtype: [m] [pointwise] [out] expected f32 or f16 or bf16, got i32[1,1,2,3]",
        "place outside its memory: layout: [m] [pointwise] [out] expected a place inside 24 bytes, got one that ends at byte 28",
        "place of the second result: shape: [m] [attention] [lse] expected f32[1,1,2,2], got f32[1,1,2,3]",
        "unknown second result: attr: [m] [copy] [outputs] expected no further results, got lse",
      ]
    `);
  });

  test("names a row without a name by its op and number", () => {
    const g = new Graph();
    g.copy({ x: g.input("x", [1, 1, 2, 3]) });
    const error = failure(() => g.linear({ x: g.input("y", [1, 1, 2, 3]), weight: g.input("w", [4, 5]) }));
    expect(error.message).toBe("[linear#1] [linear] [weight] expected [4,3], got f32[4,5]");
  });
});

describe("a graph", () => {
  test("has a method for every op, which names its rows", () => {
    const g = new Graph() as unknown as Record<string, unknown>;
    for (const id of Object.keys(OPS) as OpId[]) expect(typeof g[opMethod(id)], id).toBe("function");
  });

  test("infers results: sizes, type of the first operand, packed", () => {
    const g = new Graph();
    const x = g.input("x", [2, 3, 9, 8, 4], "f16");
    const y = g.conv({ x, weight: g.input("w", [7, 4, 3, 3, 3]), stride: [1, 2, 2], padding: [1, 1, 1, 1, 1, 0] });
    expect(y).toMatchObject({ dtype: "f16", dims: [2, 3, 5, 4, 7], pitch: 7, byteOffset: 0 });
    expect(y.storage).toMatchObject({ kind: "arena", bytes: 2 * 3 * 5 * 4 * 7 * 2 });
    const t = g.timestepEmbedding({ t: g.input("t", [1, 3]), width: 6 });
    expect(t).toMatchObject({ dtype: "f32", dims: [1, 3, 6] });
  });

  test("keeps attributes in the contract's order, defaults filled in", () => {
    const g = new Graph();
    g.conv({ x: g.input("x", [1, 1, 4, 4, 2]), weight: g.input("w", [3, 2, 1, 3, 3]), act: "silu", upsample: true });
    expect(g.rows[0]!.attrs).toEqual([1, 1, 1, 0, 0, 0, 0, 0, 0, 1, 1, 1, 1, 1, 1, 0, 0]);
    expect(g.rows[0]!.flops).toBe(2 * 6 * 6 * 3 * 2 * 9);
    expect(g.rows[0]!.name).toBe("conv#0");
  });

  test("writes into a place that is given, and returns it", () => {
    const g = new Graph();
    const both = g.empty([1, 1, 4, 10]);
    const left = g.copy({ x: g.input("a", [1, 1, 4, 4]), out: channelRange(both, 0, 4) });
    const right = g.copy({ x: g.input("b", [1, 1, 4, 6]), out: channelRange(both, 4, 10) });
    expect([left.storage, right.storage]).toEqual([both.storage, both.storage]);
    expect([left.pitch, right.byteOffset]).toEqual([10, 16]);
  });

  test("wants new names", () => {
    const g = new Graph();
    const x = g.input("x", [1]);
    g.state("s", [1]);
    g.output("y", x);
    expect(failure(() => g.input("x", [2])).message).toBe("[io] expected a new name, got x");
    expect(failure(() => g.state("s", [2])).message).toBe("[state] expected a new name, got s");
    expect(failure(() => g.output("y", x)).message).toBe("[output] expected a new name, got y");
  });
});

describe("taps", () => {
  const build = (g: Graph) => {
    const h = g.pointwise({ name: "h", a: g.input("x", [1, 1, 2, 3]), act: "silu" });
    g.tap("h", h);
    g.tap("extra", () => g.pointwise({ name: "extra", a: h }));
    g.output("y", g.pointwise({ name: "y", a: h }));
  };

  test("cost nothing unless they are asked for", () => {
    const { graph } = layoutGraph(build);
    expect([graph.rows.map((row) => row.name), [...graph.outputs.keys()]]).toEqual([["h", "y"], ["y"]]);
  });

  test("keep what is asked for, with rows of its own where fusion left it out", () => {
    const some = layoutGraph(build, { taps: new Set(["extra"]) }).graph;
    expect([some.rows.map((row) => row.name), [...some.outputs.keys()]]).toEqual([
      ["h", "extra", "y"],
      ["extra", "y"],
    ]);
    expect([...layoutGraph(build, { taps: new Set(["*"]) }).graph.outputs.keys()]).toEqual(["h", "extra", "y"]);
  });

  test("take the first tensor of a name", () => {
    const { graph } = layoutGraph(
      (g) => {
        const x = g.input("x", [1, 1, 2, 3]);
        const first = g.copy({ x });
        g.tap("t", first);
        g.tap("t", () => g.copy({ x: first }));
        expect(g.outputs.get("t")).toBe(first);
      },
      { taps: new Set(["t"]) },
    );
    expect(graph.rows).toHaveLength(1);
  });
});
