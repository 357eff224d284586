import { expect, it } from "vitest";
import { type ConvOptions, Graph, type GroupNormOptions, normedConvolutions, type Tensor } from "../../src/index";

const PADDING = [0, 0, 1, 1, 1, 1] as const;

/** A graph of a type that records convolutions so, with a map of 2 frames. */
function normedGraph(channels = 256, height = 64, width = 128, dtype: "f16" | "f32" = "f16"): { g: Graph; x: Tensor } {
  const g = new Graph({ dtype });
  g.rewriteCalls(normedConvolutions());
  return { g, x: g.input("x", [1, 2, height, width, channels]) };
}

const vector = (g: Graph, size: number) => g.constant(new Float32Array(size), [size]);
const filters = (g: Graph, columns: number, channels: number, frames = 1) =>
  g.constant(new Float32Array(columns * channels * 9 * frames), [columns, channels, frames, 3, 3]);

function normed(g: Graph, x: Tensor, more: Partial<GroupNormOptions> = {}): Tensor {
  const channels = x.dims[4]! + (more.x2?.dims[4] ?? 0);
  const [weight, bias] = [vector(g, channels), vector(g, channels)];
  return g.groupNorm({ name: "norm", x, weight, bias, groups: 32, eps: 1e-6, act: "silu", ...more });
}

const opsOf = ({ rows }: Graph) => rows.map(({ op }) => op);

/** Ops of a norm and a convolution behind it. */
function opsFor({ g, x }: { g: Graph; x: Tensor }, columns: number, more: Partial<GroupNormOptions> = {}) {
  const y = normed(g, x, more);
  g.conv({ name: "conv", x: y, weight: filters(g, columns, y.dims[4]!), padding: PADDING });
  return opsOf(g);
}

const FUSED = ["group_norm_stats", "group_norm_conv"];
const APART = ["group_norm", "conv"];

it("gives a 3x3 convolution the norm before it: statistics, then one call that reads what was normalised", () => {
  const { g, x } = normedGraph();
  const residual = g.input("residual", [1, 2, 64, 128, 256]);
  const y = g.conv({ name: "conv", x: normed(g, x), weight: filters(g, 256, 256), padding: PADDING, residual });
  expect(opsOf(g)).toEqual(FUSED);
  expect(g.rows.map(({ name }) => name)).toEqual(["norm.stats", "conv"]);
  expect(y.dims).toEqual([1, 2, 64, 128, 256]);
  expect(g.rows[1]!.inputs[0]!.storage).toBe(x.storage);
  expect(g.rows[1]!.inputs).toContain(residual);
});

it("takes given statistics", () => {
  const { g, x } = normedGraph();
  const stats = g.input("stats", [1, 2, 32, 2], "f32");
  expect(opsFor({ g, x }, 256, { stats })).toEqual(["group_norm_conv"]);
});

it("asks frames that whole tiles cover: 16 rows of 8 pixels, 32 where fewer filters share them", () => {
  expect(opsFor(normedGraph(256, 80), 256)).toEqual(FUSED);
  expect(opsFor(normedGraph(256, 80), 128)).toEqual(APART);
  expect(opsFor(normedGraph(256, 96), 128)).toEqual(FUSED);
  expect(opsFor(normedGraph(256, 72), 256)).toEqual(APART);
  expect(opsFor(normedGraph(256, 64, 132), 256)).toEqual(APART);
});

it("leaves small frames, two inputs, other channels and float32 as they are", () => {
  expect(opsFor(normedGraph(256, 32, 128), 256)).toEqual(APART);
  expect(opsFor(normedGraph(288), 256)).toEqual(APART);
  expect(opsFor(normedGraph(256), 320)).toEqual(APART);
  expect(opsFor(normedGraph(256, 64, 128, "f32"), 256)).toEqual(APART);
  const { g, x } = normedGraph();
  expect(opsFor({ g, x }, 256, { x2: g.input("x2", [1, 2, 64, 128, 256]) })).toEqual(APART);
});

it("does so for few filters of whole 32 channels, whatever the frame", () => {
  expect(opsFor(normedGraph(128, 129, 131), 3)).toEqual(FUSED);
  expect(opsFor(normedGraph(128, 129, 131), 5)).toEqual(APART);
  expect(opsFor(normedGraph(144, 129, 131), 3, { groups: 16 })).toEqual(APART);
});

it("does so for filters over frames of 128 channels", () => {
  const overFrames = (channels: number, height = 128, more: Partial<ConvOptions> = {}) => {
    const { g, x } = normedGraph(channels, height);
    const weight = g.constant(new Float32Array(channels * channels * 3), [channels, channels, 3, 1, 1]);
    g.conv({ name: "conv", x: normed(g, x, { joinFrames: true }), weight, padding: [1, 1, 0, 0, 0, 0], ...more });
    return opsOf(g);
  };
  expect(overFrames(128)).toEqual(FUSED);
  expect(overFrames(256)).toEqual(APART);
  expect(overFrames(128, 129)).toEqual(FUSED);
  expect(overFrames(128, 128, { framePadding: "replicate" })).toEqual(APART);
  expect(overFrames(128, 128, { padding: [0, 1, 0, 0, 0, 0] })).toEqual(FUSED);
  expect(overFrames(128, 128, { padding: [2, 0, 0, 0, 0, 0] })).toEqual(APART);
});

it("leaves other filters, steps and doubled maps as they are, and convolutions without a norm", () => {
  const { g, x } = normedGraph();
  g.conv({ x, weight: filters(g, 256, 256), padding: PADDING });
  g.conv({ x: normed(g, x), weight: filters(g, 256, 256), padding: PADDING, stride: [1, 2, 2] });
  g.conv({ x: normed(g, x), weight: filters(g, 256, 256), padding: PADDING, upsample: true });
  g.conv({ x: normed(g, x), weight: filters(g, 256, 256, 3), padding: [1, 1, 1, 1, 1, 1] });
  expect(opsOf(g)).toEqual(["conv", ...APART, ...APART, ...APART]);
});

it("records a norm as it is where something else reads it first", () => {
  const { g, x } = normedGraph();
  const y = normed(g, x);
  g.output("y", y);
  g.conv({ x: y, weight: filters(g, 256, 256), padding: PADDING });
  expect(opsOf(g)).toEqual(APART);
});
