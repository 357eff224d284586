import { expect, it } from "vitest";
import { Graph, type GroupNormOptions, type Tensor, type WinogradOptions, winogradConvolutions } from "../../src/index";

const PADDING = [0, 0, 1, 1, 1, 1] as const;

/** A graph of float16 that records convolutions so, with a map of 2 x 64 x 128 pixels. */
function halfGraph(channels = 512): { g: Graph; x: Tensor } {
  const g = new Graph({ dtype: "f16" });
  g.rewriteCalls(winogradConvolutions());
  return { g, x: g.input("x", [1, 2, 64, 128, channels]) };
}

const vector = (g: Graph, size: number) => g.constant(new Float32Array(size), [size]);
const filters = (g: Graph, columns: number, channels: number, kernel: readonly [number, number, number] = [1, 3, 3]) =>
  g.constant(new Float32Array(columns * channels * kernel[0] * kernel[1] * kernel[2]), [columns, channels, ...kernel]);

function normed(g: Graph, x: Tensor, more: Partial<GroupNormOptions> = {}): Tensor {
  const channels = x.dims[4]! + (more.x2?.dims[4] ?? 0);
  const [weight, bias] = [vector(g, channels), vector(g, channels)];
  return g.groupNorm({ name: "norm", x, weight, bias, groups: 32, eps: 1e-6, act: "silu", ...more });
}

const opsOf = ({ rows }: Graph) => rows.map(({ op }) => op);

it("gives a 3x3 convolution the norm before it: statistics, then one call", () => {
  const { g, x } = halfGraph();
  const y = g.conv({ name: "conv", x: normed(g, x), weight: filters(g, 512, 512), padding: PADDING });
  expect(opsOf(g)).toEqual(["group_norm_stats", "conv_winograd"]);
  expect(g.rows.map(({ name }) => name)).toEqual(["norm.stats", "conv"]);
  expect(y.dims).toEqual([1, 2, 64, 128, 512]);
  expect(g.rows[1]!.inputs[0]!.storage).toBe(x.storage);
});

it("takes a norm of two inputs, given statistics, and a convolution without a norm", () => {
  const { g, x } = halfGraph();
  const x2 = g.input("x2", [1, 2, 64, 128, 256]);
  const stats = g.input("stats", [1, 2, 32, 2], "f32");
  const wide = normed(g, x, { x2, stats });
  const y = g.conv({ x: wide, weight: filters(g, 512, 768), padding: PADDING });
  g.conv({ x: y, weight: filters(g, 512, 512), padding: PADDING });
  expect(opsOf(g)).toEqual(["conv_winograd", "conv_winograd"]);
});

it("leaves convolutions that would not gain as they are, and the norms before them", () => {
  const few = halfGraph(320);
  few.g.conv({ x: normed(few.g, few.x), weight: filters(few.g, 320, 320), padding: PADDING });
  expect(opsOf(few.g)).toEqual(["group_norm", "conv"]);
  const { g, x } = halfGraph();
  g.conv({ x, weight: filters(g, 512, 512), padding: PADDING, stride: [1, 2, 2] });
  g.conv({ x, weight: filters(g, 512, 512), padding: PADDING, upsample: true });
  g.conv({ x, weight: filters(g, 512, 512, [3, 1, 1]), padding: [1, 1, 0, 0, 0, 0] });
  g.conv({ x, weight: filters(g, 512, 512, [1, 1, 1]) });
  expect(opsOf(g)).toEqual(["conv", "conv", "conv", "conv"]);
  const whole = new Graph({ dtype: "f32" });
  whole.rewriteCalls(winogradConvolutions());
  const z = whole.input("x", [1, 2, 64, 128, 512]);
  whole.conv({ x: z, weight: filters(whole, 512, 512), padding: PADDING });
  expect(opsOf(whole)).toEqual(["conv"]);
});

/** The op that a convolution of 512 channels is recorded as. */
function opsAt(numFrames: number, height: number, width: number, options: WinogradOptions = {}) {
  const g = new Graph({ dtype: "f16" });
  g.rewriteCalls(winogradConvolutions(options));
  const x = g.input("x", [1, numFrames, height, width, 512]);
  g.conv({ x, weight: filters(g, 512, 512), padding: PADDING });
  return opsOf(g);
}

it("takes 14 frames of 18x32 and leaves those of 9x16", () => {
  expect(opsAt(14, 18, 32)).toEqual(["conv_winograd"]);
  expect(opsAt(14, 9, 16)).toEqual(["conv"]);
});

it("decides by one frame alone where a clip is to be alike in any pieces", () => {
  for (const numFrames of [1, 14]) {
    expect(opsAt(numFrames, 72, 128, { eachFrame: true })).toEqual(["conv_winograd"]);
    expect(opsAt(numFrames, 18, 32, { eachFrame: true })).toEqual(["conv"]);
  }
});

it("records a norm as it is where something else reads it, and refuses a second reader of one that was taken over", () => {
  const { g, x } = halfGraph();
  const y = normed(g, x);
  g.conv({ x: y, weight: filters(g, 512, 512, [1, 1, 1]) });
  g.conv({ name: "late", x: y, weight: filters(g, 512, 512), padding: PADDING });
  expect(opsOf(g)).toEqual(["group_norm", "conv", "conv_winograd"]);
  const other = halfGraph();
  const z = normed(other.g, other.x);
  other.g.conv({ x: z, weight: filters(other.g, 512, 512), padding: PADDING });
  expect(() => other.g.conv({ name: "second", x: z, weight: filters(other.g, 512, 512, [1, 1, 1]) })).toThrow(
    /second.*read by one product/,
  );
});

it("records a norm that becomes an output, and what reads it after that", () => {
  const { g, x } = halfGraph();
  const y = normed(g, x);
  g.output("y", y);
  expect(opsOf(g)).toEqual(["group_norm"]);
  g.conv({ x: y, weight: filters(g, 512, 512), padding: PADDING });
  expect(opsOf(g)).toEqual(["group_norm", "conv_winograd"]);
});
