import { beside, type Plain } from "@vd/kernels-native/references";
import { describe, expect, test } from "vitest";
import { Graph } from "../../src/graph";
import { frameChunks, resBlock, sigmoid, spatioTemporalResBlock, temporalResBlock } from "../../src/nn/index";
import { pixels, tokens } from "../../src/tensor";
import { failure } from "../support/failure";
import { expectNear, op, random, run, shaped, sum } from "../support/run-module";
import { smallWeights } from "../support/small-weights";

type Shapes = Record<string, readonly number[]>;
type Weights = Readonly<Record<string, Plain>>;

/** Weights of one half: a norm and a convolution. */
const half = (path: string, i: number, cin: number, cout: number, kernel: number[]): Shapes => ({
  [`${path}.norm${i}.weight`]: [cin],
  [`${path}.norm${i}.bias`]: [cin],
  [`${path}.conv${i}.weight`]: [cout, cin, ...kernel],
  [`${path}.conv${i}.bias`]: [cout],
});

function blockShapes(path: string, cin: number, cout: number, kernel: number[], emb?: number): Shapes {
  const shapes = { ...half(path, 1, cin, cout, kernel), ...half(path, 2, cout, cout, kernel) };
  if (emb)
    Object.assign(shapes, { [`${path}.time_emb_proj.weight`]: [cout, emb], [`${path}.time_emb_proj.bias`]: [cout] });
  if (cin !== cout)
    Object.assign(shapes, {
      [`${path}.conv_shortcut.weight`]: [cout, cin, 1, 1],
      [`${path}.conv_shortcut.bias`]: [cout],
    });
  return shapes;
}

const SPATIAL = { kernel: [1, 3, 3], padding: [0, 0, 1, 1, 1, 1], joinFrames: false };
const TEMPORAL = { kernel: [3, 1, 1], padding: [1, 1, 0, 0, 0, 0], joinFrames: true };

/** Norm, SiLU and convolution number `i`. */
function plainHalf(
  x: Plain,
  w: Weights,
  path: string,
  i: number,
  eps: number,
  kind: typeof SPATIAL,
  frameBias?: Plain,
): Plain {
  const at = (name: string) => w[`${path}.${name}`]!;
  const attrs = { groups: 32, eps, act: "silu", joinFrames: kind.joinFrames };
  const normed = op("group_norm", { x, weight: at(`norm${i}.weight`), bias: at(`norm${i}.bias`) }, attrs);
  const filter = at(`conv${i}.weight`);
  const weight = shaped(filter, [...filter.dims.slice(0, 2), ...kind.kernel]);
  return op("conv", { x: normed, weight, bias: at(`conv${i}.bias`), frameBias }, { padding: kind.padding });
}

/** The part that is added to the shortcut. */
function plainBranch(x: Plain, w: Weights, path: string, eps: number, kind: typeof SPATIAL, emb?: Plain): Plain {
  const project = (e: Plain) =>
    op("linear", { x: e, weight: w[`${path}.time_emb_proj.weight`], bias: w[`${path}.time_emb_proj.bias`] });
  const bias = emb && shaped(project(emb), [emb.dims[0]!, 1, w[`${path}.conv1.bias`]!.dims[0]!]);
  return plainHalf(plainHalf(x, w, path, 1, eps, kind, bias), w, path, 2, eps, kind);
}

function plainShortcut(x: Plain, w: Weights, path: string): Plain {
  const weight = w[`${path}.conv_shortcut.weight`];
  if (!weight) return x;
  return op("conv", {
    x,
    weight: shaped(weight, [...weight.dims.slice(0, 2), 1, 1, 1]),
    bias: w[`${path}.conv_shortcut.bias`],
  });
}

describe("a residual block", () => {
  test.each([
    [32, 32],
    [32, 64],
    [64, 32],
  ])("from %i to %i channels with a time embedding", async (cin, cout) => {
    const { weights, plain } = smallWeights(blockShapes("r", cin, cout, [3, 3], 10));
    const [x, emb] = [random("x", [2, 2, 4, 3, cin]), random("emb", [2, 1, 1, 10])];
    const block = resBlock(weights.at("r"), { cin, cout, eps: 1e-6, embChannels: 10 });
    const got = await run({ x, emb }, (g, t) => block(g, t.x!, { emb: t.emb }));
    expectNear(got, sum([1, plainShortcut(x, plain, "r")], [1, plainBranch(x, plain, "r", 1e-6, SPATIAL, emb)]));
    weights.expectAllUsed();
  });

  test("whose embedding scales and shifts the second norm, of few groups, with a divided sum", async () => {
    const [C, E, groups, eps] = [8, 10, 2, 1e-5];
    const shapes = {
      ...blockShapes("r", C, C, [3, 3]),
      "r.time_emb_proj.weight": [2 * C, E],
      "r.time_emb_proj.bias": [2 * C],
    };
    const { weights, plain } = smallWeights(shapes);
    const [x, emb] = [random("x", [2, 1, 4, 3, C]), random("emb", [2, 1, 1, E])];
    const config = {
      cin: C,
      cout: C,
      eps,
      groups,
      embChannels: E,
      timeScaleShift: "scale_shift",
      outputScaleFactor: 2,
    } as const;
    const got = await run({ x, emb }, (g, t) => resBlock(weights.at("r"), config)(g, t.x!, { emb: t.emb }));
    const at = (name: string) => plain[`r.${name}`]!;
    const norm = (i: number, input: Plain, act: string) =>
      op(
        "group_norm",
        { x: input, weight: at(`norm${i}.weight`), bias: at(`norm${i}.bias`) },
        { groups, eps, act, joinFrames: false },
      );
    const convolve = (i: number, input: Plain) =>
      op(
        "conv",
        { x: input, weight: shaped(at(`conv${i}.weight`), [C, C, 1, 3, 3]), bias: at(`conv${i}.bias`) },
        { padding: SPATIAL.padding },
      );
    const both = op("linear", { x: emb, weight: at("time_emb_proj.weight"), bias: at("time_emb_proj.bias") });
    const normed = norm(2, convolve(1, norm(1, x, "silu")), "none");
    const pixelsPerClip = 4 * 3 * C;
    const data = normed.data.map((value, i) => {
      const of = (part: number) => both.data[Math.floor(i / pixelsPerClip) * 2 * C + part * C + (i % C)]!;
      const y = value * (1 + of(0)) + of(1);
      return y * sigmoid(y);
    });
    expectNear(got, sum([0.5, x], [0.5, convolve(2, { dims: normed.dims, data })]));
    weights.expectAllUsed();
  });

  test("without an embedding has no projection for it", async () => {
    const { weights, plain } = smallWeights(blockShapes("r", 32, 32, [3, 3]));
    const x = random("x", [1, 2, 4, 3, 32]);
    const got = await run({ x }, (g, t) => resBlock(weights.at("r"), { cin: 32, cout: 32, eps: 1e-5 })(g, t.x!));
    expectNear(got, sum([1, x], [1, plainBranch(x, plain, "r", 1e-5, SPATIAL)]));
    expect(failure(() => resBlock(weights.at("r"), { cin: 32, cout: 32, eps: 1e-5, embChannels: 4 })).where).toContain(
      "time_emb_proj.weight",
    );
  });

  test.each([
    [64, 32],
    [64, 64],
  ])("takes a skip connection beside its input: %i together to %i", async (cin, cout) => {
    const { weights, plain } = smallWeights(blockShapes("r", cin, cout, [3, 3]));
    const [x, x2] = [random("x", [1, 2, 3, 3, 40]), random("x2", [1, 2, 3, 3, 24])];
    const block = resBlock(weights.at("r"), { cin, cout, eps: 1e-6 });
    const got = await run({ x, x2 }, (g, t) => block(g, t.x!, { x2: t.x2 }));
    const both = beside(x, x2);
    expectNear(got, sum([1, plainShortcut(both, plain, "r")], [1, plainBranch(both, plain, "r", 1e-6, SPATIAL)]));
  });
});

describe("a temporal residual block", () => {
  const { weights, plain } = smallWeights(blockShapes("t", 32, 32, [3, 1, 1], 6));
  const block = temporalResBlock(weights.at("t"), { cin: 32, cout: 32, eps: 1e-5, embChannels: 6 });

  test("adds its branch by an amount, statistics over all frames", async () => {
    const [x, emb] = [random("x", [2, 5, 2, 3, 32]), random("emb", [2, 1, 1, 6])];
    const got = await run({ x, emb }, (g, t) => block(g, t.x!, { emb: t.emb, amount: 0.3 }));
    expectNear(got, sum([1, x], [0.3, plainBranch(x, plain, "t", 1e-5, TEMPORAL, emb)]));
  });

  test.each([1, 2, 3, 4, 7])("in parts of %i frames gives what it gives whole", async (size) => {
    const [x, emb] = [random("x", [1, 7, 2, 3, 32]), random("emb", [1, 1, 1, 6])];
    const whole = await run({ x, emb }, (g, t) => block(g, t.x!, { emb: t.emb, amount: 0.3 }));
    const chunks = frameChunks(7, size);
    const parts = await run({ x, emb }, (g, t) => {
      // Parts are computed in place.
      const own = pixels(g.pointwise({ a: tokens(t.x!) }), 2, 3);
      return block(g, own, { emb: t.emb, amount: 0.3, chunks });
    });
    expectNear(parts, whole, { nmse: 1e-13, worst: 1e-5 });
  });

  test.each([1, 2, 3, 4, 7])(
    "computes nothing twice in parts of %i frames with a place for what is half done",
    (size) => {
      const chunks = frameChunks(7, size);
      const record = (hasHalf: boolean) => {
        const g = new Graph();
        const x = g.input("x", [1, 7, 2, 3, 32]);
        const own = pixels(g.pointwise({ a: tokens(x) }), 2, 3);
        const half = hasHalf ? g.empty(x.dims) : undefined;
        expect(block(g, own, { amount: 0.3, chunks, half }).storage).toBe(
          hasHalf || chunks.length > 1 ? own.storage : g.rows.at(-1)!.outputs[0]!.storage,
        );
        const convolutions = g.rows.filter(({ op }) => op === "conv");
        return convolutions.reduce((sum, { flops }) => sum + flops, 0);
      };
      const [once, twice] = [record(true), record(false)];
      expect(twice / once).toBeCloseTo(chunks.length > 1 ? 1.5 : 1, 5);
    },
  );

  test.each([1, 2, 3, 4, 7])("in parts of %i frames has the same bits with and without such a place", async (size) => {
    const x = random("x", [1, 7, 2, 3, 32]);
    const [over, window, whole] = await Promise.all(
      [
        { chunks: frameChunks(7, size), hasHalf: true },
        { chunks: frameChunks(7, size), hasHalf: false },
        { chunks: frameChunks(7, 7), hasHalf: false },
      ].map(({ chunks, hasHalf }) =>
        run({ x }, (g, t) => {
          const own = pixels(g.pointwise({ a: tokens(t.x!) }), 2, 3);
          return block(g, own, { amount: 0.3, chunks, half: hasHalf ? g.empty(own.dims) : undefined });
        }),
      ),
    );
    expect(over!.data).toEqual(whole!.data);
    expect(window!.data).toEqual(whole!.data);
  });
});

describe("a spatio-temporal residual block", () => {
  const shapes = {
    ...blockShapes("b.spatial_res_block", 32, 64, [3, 3]),
    ...blockShapes("b.temporal_res_block", 64, 64, [3, 1, 1]),
    "b.time_mixer.mix_factor": [1],
  };
  const { weights, plain } = smallWeights(shapes);
  const factor = sigmoid(plain["b.time_mixer.mix_factor"]!.data[0]!);
  const x = random("x", [1, 4, 3, 2, 32]);

  test.each([false, true])("blends its halves by the learned factor, switched %s", async (switched) => {
    const config = { cin: 32, cout: 64, eps: 1e-6, temporalEps: 1e-5, switched };
    const block = spatioTemporalResBlock(weights.at("b"), config);
    const got = await run({ x }, (g, t) => block.temporal(g, block.spatial(g, t.x!)));
    const spatial = sum(
      [1, plainShortcut(x, plain, "b.spatial_res_block")],
      [1, plainBranch(x, plain, "b.spatial_res_block", 1e-6, SPATIAL)],
    );
    const temporal = sum([1, spatial], [1, plainBranch(spatial, plain, "b.temporal_res_block", 1e-5, TEMPORAL)]);
    // The factor weighs the spatial half unless switched.
    const alpha = switched ? 1 - factor : factor;
    expectNear(got, sum([alpha, spatial], [1 - alpha, temporal]));
    weights.expectAllUsed();
  });

  test("is the same in parts", async () => {
    const block = spatioTemporalResBlock(weights.at("b"), { cin: 32, cout: 64, eps: 1e-6 });
    const whole = await run({ x }, (g, t) => block.temporal(g, block.spatial(g, t.x!)));
    const parts = await run({ x }, (g, t) => block.temporal(g, block.spatial(g, t.x!), { chunks: frameChunks(4, 3) }));
    expectNear(parts, whole, { nmse: 1e-13, worst: 1e-5 });
  });
});

test("frames are cut into runs of at most a size", () => {
  expect(frameChunks(7, 3)).toEqual([
    [0, 3],
    [3, 6],
    [6, 7],
  ]);
  expect(frameChunks(3, 3)).toEqual([[0, 3]]);
  expect(frameChunks(2, 9)).toEqual([[0, 2]]);
});
