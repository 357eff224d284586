import type { DType } from "@vd/kernels-native";
import { describe, expect, test } from "vitest";
import { frameRange, type Graph, layoutGraph, type Tensor, tokens } from "../../src/index";

const CHANNELS = 64;
/** Large enough for no cache: 8 MiB a frame in 16 bits. */
const SIZE = [256, 256] as const;

const clip = (g: Graph, name: string, numFrames = 3, channels = CHANNELS, size: readonly [number, number] = SIZE) =>
  g.input(name, [1, numFrames, ...size, channels]);

function weights(g: Graph, channels = CHANNELS) {
  const ones = (dims: readonly number[]) => g.constant(new Float32Array(dims.reduce((a, b) => a * b, 1)), dims);
  return { filters: ones([channels, channels, 1, 3, 3]), scale: ones([channels]), one: ones };
}

const PADDING = [0, 0, 1, 1, 1, 1] as const;

function convolved(g: Graph, x: Tensor, out?: Tensor): Tensor {
  return g.conv({ name: "conv", x, weight: weights(g, x.dims[4]).filters, padding: PADDING, out });
}

function normed(g: Graph, x: Tensor, more: { x2?: Tensor; joinFrames?: boolean; stats?: Tensor } = {}): Tensor {
  const scale = weights(g, x.dims[4]! + (more.x2?.dims[4] ?? 0)).scale;
  return g.groupNorm({ name: "norm", x, weight: scale, bias: scale, groups: 32, eps: 1e-5, act: "silu", ...more });
}

const rowsOf = (build: (g: Graph) => void, dtype: DType = "f16") => layoutGraph(build, { dtype }).graph.rows;
const opsOf = (build: (g: Graph) => void, dtype?: DType) => rowsOf(build, dtype).map(({ op }) => op);

describe("a norm behind a convolution", () => {
  const build = (g: Graph) => g.output("y", normed(g, convolved(g, clip(g, "x")), { joinFrames: true }));

  test("takes statistics from what the convolution finds on the way", () => {
    const [conv, stats, norm] = rowsOf(build);
    expect([conv!.op, stats!.op, norm!.op]).toEqual(["conv", "group_norm_stats", "group_norm"]);
    expect(conv!.outputs[1]!.dims).toEqual([1, 3, CHANNELS, 2]);
    expect(stats!.name).toBe("norm.stats");
    expect(stats!.inputs[2]).toMatchObject({ storage: conv!.outputs[1]!.storage, dims: [1, 3, CHANNELS, 2] });
    expect(stats!.outputs[0]!.dims).toEqual([1, 1, 32, 2]);
    expect(norm!.inputs[4]).toBe(stats!.outputs[0]);
  });

  test("measures by itself in float32, of small frames, and of frames that tiles do not cover", () => {
    expect(opsOf(build, "f32")).toEqual(["conv", "group_norm"]);
    const sized = (size: [number, number]) => (g: Graph) =>
      g.output("y", normed(g, convolved(g, clip(g, "x", 3, CHANNELS, size))));
    expect(opsOf(sized([64, 64]))).toEqual(["conv", "group_norm"]);
    expect(opsOf(sized([250, 257]))).toEqual(["conv", "group_norm"]);
    expect(opsOf(sized([250, 256]))).toEqual(["conv", "group_norm_stats", "group_norm"]);
  });

  test("measures by itself what something else wrote over, and what it is given statistics for", () => {
    const over = (g: Graph) => {
      const y = convolved(g, clip(g, "x"));
      g.pointwise({ a: tokens(y), act: "silu", out: tokens(y) });
      g.output("y", normed(g, y));
    };
    expect(opsOf(over)).toEqual(["conv", "pointwise", "group_norm"]);
    const given = (g: Graph) =>
      g.output("y", normed(g, convolved(g, clip(g, "x")), { stats: g.input("stats", [1, 3, 32, 2], "f32") }));
    expect(rowsOf(given)[0]!.outputs[1]).toBeUndefined();
  });
});

test("statistics alone come from moments too, in their own place", () => {
  const rows = rowsOf((g) => {
    const [x, out] = [convolved(g, clip(g, "x")), g.empty([1, 3, 32, 2], "f32")];
    g.output("stats", g.groupNormStats({ name: "stats", x, groups: 32, eps: 1e-6, out }));
  });
  expect(rows.map(({ op }) => op)).toEqual(["conv", "group_norm_stats"]);
  expect(rows[1]!.inputs[2]).toEqual(rows[0]!.outputs[1]);
  expect(rows[1]!.outputs[0]!.dims).toEqual([1, 3, 32, 2]);
});

test("a clip that convolutions wrote in pieces has the moments of all pieces", () => {
  const rows = rowsOf((g) => {
    const [x, y] = [clip(g, "x"), g.empty([1, 3, ...SIZE, CHANNELS])];
    for (const [from, to] of [
      [0, 2],
      [2, 3],
    ] as const)
      convolved(g, frameRange(x, from, to), frameRange(y, from, to));
    g.output("y", normed(g, y, { joinFrames: true }));
    g.output("last", normed(g, frameRange(y, 1, 3)));
  });
  const [first, second, stats, , later] = rows;
  const [a, b, all, part] = [first!.outputs[1]!, second!.outputs[1]!, stats!.inputs[2]!, later!.inputs[2]!];
  expect([a, b, all, part].map(({ dims }) => dims[1])).toEqual([2, 1, 3, 2]);
  const frameBytes = CHANNELS * 2 * 4;
  expect([a, b, all, part].map(({ byteOffset }) => byteOffset)).toEqual([0, 2 * frameBytes, 0, frameBytes]);
  expect(new Set([a, b, all, part].map(({ storage }) => storage)).size).toBe(1);
});

test("a piece that is missing, or is of another shape, is read by the norm", () => {
  const missing = (g: Graph) => {
    const [x, y] = [clip(g, "x"), g.empty([1, 3, ...SIZE, CHANNELS])];
    convolved(g, frameRange(x, 0, 2), frameRange(y, 0, 2));
    g.output("y", normed(g, y));
  };
  expect(opsOf(missing)).toEqual(["conv", "group_norm"]);
  const halves = (g: Graph) => {
    const y = convolved(g, clip(g, "x", 2));
    const wide = { ...y, dims: [1, 1, 512, 256, CHANNELS] };
    g.output("y", normed(g, wide));
  };
  expect(opsOf(halves)).toEqual(["conv", "group_norm"]);
});

test("two inputs side by side need the moments of both", () => {
  const of = (second: (g: Graph) => Tensor) => (g: Graph) =>
    g.output("y", normed(g, convolved(g, clip(g, "x")), { x2: second(g) }));
  const both = rowsOf(of((g) => convolved(g, clip(g, "z"))));
  expect(both.map(({ op }) => op)).toEqual(["conv", "conv", "group_norm_stats", "group_norm"]);
  expect(both[2]!.inputs.slice(2).map((each) => each?.storage)).toEqual([
    both[0]!.outputs[1]!.storage,
    both[1]!.outputs[1]!.storage,
  ]);
  expect(opsOf(of((g) => clip(g, "z")))).toEqual(["conv", "group_norm"]);
});

test("convolutions of 8 bits find them on the way too", () => {
  const rows = rowsOf((g) => {
    const codes = g.input("x", [1, 3, ...SIZE, CHANNELS], "f8e4m3");
    const weight = g.input("weight", [CHANNELS, CHANNELS, 1, 3, 3], "f8e4m3");
    const [xScale, weightScale] = [
      g.input("xScale", [1, 1, 1, 1], "f32"),
      g.input("weightScale", [CHANNELS, 1], "f32"),
    ];
    const out = g.empty([1, 3, ...SIZE, CHANNELS], "f16");
    const y = g.convQ8({ name: "conv", x: codes, xScale, weight, weightScale, padding: PADDING, out });
    const [scale, yScale] = [weights(g).scale, g.constant(new Float32Array([1]), [1, 1, 1, 1])];
    const norm = { name: "norm", x: y, weight: scale, bias: scale, groups: 32, eps: 1e-5, yScale };
    g.output("y", g.groupNormQ8({ ...norm, out: g.empty(y.dims, "f8e4m3") }));
  });
  expect(rows.map(({ op }) => op)).toEqual(["conv_q8", "group_norm_stats", "group_norm_q8"]);
  expect(rows[0]!.outputs[1]!.dims).toEqual([1, 3, CHANNELS, 2]);
  expect(rows[1]!.inputs[2]).toMatchObject({ storage: rows[0]!.outputs[1]!.storage });
  expect(rows[2]!.inputs).toContain(rows[1]!.outputs[0]);
});
