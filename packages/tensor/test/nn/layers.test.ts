import { describe, expect, test } from "vitest";
import { Graph } from "../../src/graph";
import { toFloat16Array } from "../../src/half";
import {
  batchNorm,
  causalConv,
  conv,
  convNormAct,
  convTranspose,
  gatedResidual,
  groupNorm,
  layerNorm,
  linear,
  modulationVectors,
  rmsNorm,
} from "../../src/nn/index";
import { foldBatchNorm } from "../../src/weights/fold";
import { failure } from "../support/failure";
import { channels, expectNear, op, random, run, shaped } from "../support/run-module";
import { smallWeights } from "../support/small-weights";

describe("linear", () => {
  test("with bias and an epilogue", async () => {
    const { weights, plain } = smallWeights({ "a.weight": [5, 7], "a.bias": [5] });
    const layer = linear(weights.at("a"), { cin: 7, cout: 5 });
    const [x, residual] = [random("x", [2, 2, 3, 7]), random("r", [2, 2, 3, 5])];
    const got = await run({ x, residual }, (g, t) =>
      layer(g, t.x!, { act: "silu", residual: t.residual, outScale: 0.5 }),
    );
    const operands = { x, weight: plain["a.weight"], bias: plain["a.bias"], residual };
    expectNear(got, op("linear", operands, { act: "silu", outScale: 0.5 }));
    weights.expectAllUsed();
  });

  test("without bias asks for none", () => {
    const { weights } = smallWeights({ "a.weight": [5, 7] });
    linear(weights.at("a"), { cin: 7, cout: 5, bias: false });
    expect(failure(() => linear(weights.at("a"), { cin: 7, cout: 5 })).where).toBe("small] [a.bias");
  });

  test.each(["f16", "bf16"] as const)("with weights stored as %s", async (dtype) => {
    const { weights, plain } = smallWeights({ "a.weight": [5, 7], "a.bias": [5] }, { dtype });
    const x = random("x", [1, 1, 3, 7]);
    const layer = linear(weights.at("a"), { cin: 7, cout: 5 });
    const got = await run({ x }, (g, t) => layer(g, t.x!));
    const rounding = dtype === "f16" ? 1e-6 : 1e-4;
    const wanted = op("linear", { x, weight: plain["a.weight"], bias: plain["a.bias"] });
    expectNear(got, wanted, { nmse: rounding, worst: Math.sqrt(rounding) * 8 });
  });
});

describe("conv", () => {
  const { weights, plain } = smallWeights({
    "c.weight": [6, 4, 3, 3],
    "c.bias": [6],
    "t.weight": [6, 4, 3, 1, 1],
    "t.bias": [6],
  });

  test("keeps the size, flat filters lie in one frame", async () => {
    const x = random("x", [1, 2, 5, 4, 4]);
    const layer = conv(weights.at("c"), { cin: 4, cout: 6, kernel: [1, 3, 3] });
    const weight = shaped(plain["c.weight"]!, [6, 4, 1, 3, 3]);
    const wanted = op("conv", { x, weight, bias: plain["c.bias"] }, { padding: [0, 0, 1, 1, 1, 1] });
    expectNear(await run({ x }, (g, t) => layer(g, t.x!)), wanted);
  });

  test("strides, pads on one side and upsamples as configured", async () => {
    const x = random("x", [1, 2, 5, 4, 4]);
    const weight = shaped(plain["c.weight"]!, [6, 4, 1, 3, 3]);
    const operands = { x, weight, bias: plain["c.bias"] };
    for (const config of [
      {
        stride: [1, 2, 2] as [number, number, number],
        padding: [0, 0, 0, 1, 0, 1] as [number, number, number, number, number, number],
      },
      { upsample: true, padding: [0, 0, 1, 1, 1, 1] as [number, number, number, number, number, number] },
    ]) {
      const layer = conv(weights.at("c"), { cin: 4, cout: 6, kernel: [1, 3, 3], ...config });
      expectNear(await run({ x }, (g, t) => layer(g, t.x!)), op("conv", operands, config));
    }
  });

  test("over time, its padding replaced by the call", async () => {
    const x = random("x", [1, 5, 2, 2, 4]);
    const layer = conv(weights.at("t"), { cin: 4, cout: 6, kernel: [3, 1, 1] });
    const padding = [1, 0, 0, 0, 0, 0] as [number, number, number, number, number, number];
    const wanted = op("conv", { x, weight: plain["t.weight"], bias: plain["t.bias"] }, { padding });
    expectNear(await run({ x }, (g, t) => layer(g, t.x!, { padding })), wanted);
  });

  test("wants the checkpoint's shape", () => {
    const error = failure(() => conv(weights.at("t"), { cin: 4, cout: 6, kernel: [1, 3, 3] }));
    expect(error).toMatchObject({ expected: "a shape of [6,4,3,3]", got: "[6,4,3,1,1]" });
  });
});

describe("norms", () => {
  const { weights, plain } = smallWeights({ "n.weight": [64], "n.bias": [64] });
  const [weight, bias] = [plain["n.weight"], plain["n.bias"]];

  test("group norm over 32 groups, per frame or joined", async () => {
    const x = random("x", [2, 3, 2, 3, 64]);
    for (const joinFrames of [false, true]) {
      const layer = groupNorm(weights.at("n"), { channels: 64, eps: 1e-6, act: "silu", joinFrames });
      const wanted = op("group_norm", { x, weight, bias }, { groups: 32, eps: 1e-6, act: "silu", joinFrames });
      expectNear(await run({ x }, (g, t) => layer(g, t.x!)), wanted);
    }
  });

  test("group norm of two inputs, the activation replaced by the call", async () => {
    const [x, x2] = [random("x", [1, 2, 2, 3, 40]), random("x2", [1, 2, 2, 3, 24])];
    const layer = groupNorm(weights.at("n"), { channels: 64, groups: 8, eps: 1e-5, act: "silu" });
    const wanted = op("group_norm", { x, x2, weight, bias }, { groups: 8, eps: 1e-5 });
    expectNear(await run({ x, x2 }, (g, t) => layer(g, t.x!, { x2: t.x2, act: "none" })), wanted);
  });

  test("layer norm, eps 1e-5 unless given", async () => {
    const x = random("x", [1, 2, 5, 64]);
    for (const eps of [undefined, 0.1]) {
      const layer = layerNorm(weights.at("n"), eps === undefined ? { channels: 64 } : { channels: 64, eps });
      expectNear(
        await run({ x }, (g, t) => layer(g, t.x!)),
        op("layer_norm", { x, weight, bias }, { eps: eps ?? 1e-5 }),
      );
    }
  });
});

describe("norms of tokens", () => {
  const { weights, plain } = smallWeights({ "n.weight": [24], "n.bias": [24] });
  const x = random("x", [2, 3, 5, 24]);
  const [scale, shift] = [random("scale", [2, 1, 1, 24]), random("shift", [1, 3, 1, 24])];

  test("a layer norm without weights is modulated", async () => {
    const layer = layerNorm(weights.at("bare"), { channels: 24, eps: 1e-6, affine: false });
    const got = await run({ x, scale, shift }, (g, t) => layer(g, t.x!, { scale: t.scale, shift: t.shift }));
    expectNear(got, op("layer_norm", { x, scale, shift }, { eps: 1e-6 }));
    expect(op("layer_norm", { x, scale, shift }, { eps: 1e-6 }).data).not.toEqual(
      op("layer_norm", { x }, { eps: 1e-6 }).data,
    );
  });

  test("a layer norm may have a weight alone", async () => {
    const layer = layerNorm(weights.at("n"), { channels: 24, bias: false });
    expectNear(
      await run({ x }, (g, t) => layer(g, t.x!)),
      op("layer_norm", { x, weight: plain["n.weight"] }, { eps: 1e-5 }),
    );
  });

  test("rms norm, with its weight or modulated", async () => {
    const layer = rmsNorm(weights.at("n"), { channels: 24 });
    expectNear(
      await run({ x }, (g, t) => layer(g, t.x!)),
      op("rms_norm", { x, weight: plain["n.weight"] }, { eps: 1e-6 }),
    );
    const bare = rmsNorm(weights.at("n"), { channels: 24, eps: 0.1, affine: false });
    expectNear(
      await run({ x, scale }, (g, t) => bare(g, t.x!, { scale: t.scale })),
      op("rms_norm", { x, scale }, { eps: 0.1 }),
    );
  });
});

describe("batch norm", () => {
  const shapes = { "n.weight": [8], "n.bias": [8], "n.running_mean": [8], "n.running_var": [8] };
  const { weights, plain } = smallWeights(shapes);
  const x = random("x", [2, 3, 2, 3, 8]);
  // A variance is not negative.
  const variance = plain["n.running_var"]!;
  const stored = { dims: [8], data: variance.data.map(Math.abs) };
  const entry = weights.at("n").tensor("running_var", [8]);
  entry.storage.place!.buffer.writeSync(Float32Array.from(stored.data));

  test("takes running statistics, and weight and bias where there are some", async () => {
    const statistics = { mean: plain["n.running_mean"], variance: stored };
    const layer = batchNorm(weights.at("n"), { channels: 8, act: "silu" });
    const operands = { x, ...statistics, weight: plain["n.weight"], bias: plain["n.bias"] };
    expectNear(await run({ x }, (g, t) => layer(g, t.x!)), op("batch_norm", operands, { eps: 1e-5, act: "silu" }));
    const bare = batchNorm(weights.at("n"), { channels: 8, eps: 0.5, affine: false });
    expectNear(await run({ x }, (g, t) => bare(g, t.x!)), op("batch_norm", { x, ...statistics }, { eps: 0.5 }));
  });

  test("gives what a convolution with folded weights gives", async () => {
    const filters = smallWeights({ "c.weight": [8, 4, 1, 1], "c.bias": [8] });
    const input = random("input", [1, 2, 3, 3, 4]);
    const both = await run({ input }, (g, t) => {
      const y = conv(filters.weights.at("c"), { cin: 4, cout: 8, kernel: [1, 1, 1] })(g, t.input!);
      return batchNorm(weights.at("n"), { channels: 8 })(g, y);
    });
    const { weight, bias } = foldBatchNorm({
      weight: filters.plain["c.weight"]!.data,
      bias: filters.plain["c.bias"]!.data,
      scale: plain["n.weight"]!.data,
      shift: plain["n.bias"]!.data,
      mean: plain["n.running_mean"]!.data,
      variance: stored.data,
      eps: 1e-5,
    });
    const folded = {
      x: input,
      weight: { dims: [8, 4, 1, 1, 1], data: Float64Array.from(weight) },
      bias: { dims: [8], data: Float64Array.from(bias) },
    };
    expectNear(both, op("conv", folded));
  });
});

describe("convolutions", () => {
  const x = random("x", [1, 3, 4, 5, 8]);
  const around: [number, number, number, number, number, number] = [0, 0, 1, 1, 1, 1];

  test("with a norm and an activation behind them are one launch", async () => {
    const shapes = { "conv.weight": [6, 4, 3, 3], "conv.bias": [6], "bn.weight": [6], "bn.bias": [6] };
    for (const dtype of ["f32", "f16"] as const) {
      const { weights, plain } = smallWeights({ ...shapes, "bn.running_mean": [6], "bn.running_var": [6] }, { dtype });
      const variance = plain["bn.running_var"]!.data.map(Math.abs);
      const stored = { dims: [6], data: variance };
      const { storage, byteOffset } = weights.tensor("bn.running_var", [6]);
      storage.place!.buffer.writeSync(
        dtype === "f32" ? Float32Array.from(variance) : toFloat16Array(Float32Array.from(variance)),
        byteOffset,
      );
      const layer = convNormAct(weights, { cin: 8, cout: 6, kernel: [1, 3, 3], groups: 2, bias: true, eps: 1e-3 });
      const got = await run({ x }, (g, t) => {
        const y = layer(g, t.x!);
        expect(g.rows.map((row) => row.op)).toEqual(["conv"]);
        return y;
      });
      const weight = shaped(plain["conv.weight"]!, [6, 4, 1, 3, 3]);
      const product = op("conv", { x, weight, bias: plain["conv.bias"] }, { padding: around, groups: 2 });
      const statistics = { mean: plain["bn.running_mean"], variance: stored };
      const learned = { weight: plain["bn.weight"], bias: plain["bn.bias"] };
      const wanted = op("batch_norm", { x: product, ...statistics, ...learned }, { eps: 1e-3, act: "silu" });
      expectNear(got, wanted, dtype === "f32" ? undefined : { nmse: 1e-5, worst: 1e-2 });
      weights.expectAllUsed();
    }
  });

  test("that are causal pad by what came before", async () => {
    const { weights, plain } = smallWeights({ "c.weight": [6, 8, 3, 3, 3], "c.bias": [6] });
    const layer = causalConv(weights.at("c"), { cin: 8, cout: 6, kernel: [3, 3, 3], framePadding: "replicate" });
    const operands = { x, weight: plain["c.weight"], bias: plain["c.bias"] };
    const first = op("conv", operands, { padding: [2, 0, 1, 1, 1, 1], framePadding: "replicate" });
    expectNear(await run({ x }, (g, t) => layer(g, t.x!)), first);
    // What is undefined in a call leaves the layer as it was made.
    expectNear(await run({ x }, (g, t) => layer(g, t.x!, { padding: undefined })), first);
    const past = random("past", [1, 2, 4, 5, 8]);
    expectNear(
      await run({ x, past }, (g, t) => layer(g, t.x!, { past: t.past })),
      op("conv", { ...operands, past }, { padding: around }),
    );
  });

  test("that are transposed double height and width", async () => {
    const { weights, plain } = smallWeights({ "up.weight": [8, 6, 4, 4], "up.bias": [6] });
    const layer = convTranspose(weights.at("up"), { cin: 8, cout: 6 });
    const wanted = op(
      "conv",
      { x, weight: shaped(plain["up.weight"]!, [8, 6, 1, 4, 4]), bias: plain["up.bias"] },
      { transposed: true, stride: [1, 2, 2], padding: around },
    );
    expectNear(await run({ x }, (g, t) => layer(g, t.x!)), wanted);
  });
});

describe("adaptive blocks", () => {
  test("vectors of a modulation are ranges of one product", async () => {
    const { weights, plain } = smallWeights({ "m.weight": [24, 6], "m.bias": [24] });
    const emb = random("emb", [2, 1, 1, 6]);
    const vectors = modulationVectors(weights.at("m"), { channels: 8, embChannels: 6, parts: 3 });
    const got = await run({ emb }, (g, t) => {
      const [, , gate] = vectors(g, t.emb!);
      return g.copy({ x: gate! });
    });
    const all = op("linear", { x: emb, weight: plain["m.weight"], bias: plain["m.bias"] });
    expectNear(got, channels(all, 16, 24));
  });

  test("a gated residual is residual + gate · branch", async () => {
    const operands = {
      residual: random("r", [2, 3, 5, 8]),
      gate: random("g", [2, 1, 1, 8]),
      branch: random("b", [2, 3, 5, 8]),
    };
    const got = await run(operands, (g, { residual, gate, branch }) =>
      gatedResidual("block.residual")(g, { residual: residual!, gate: gate!, branch: branch! }),
    );
    const { residual: a, gate: b, branch: c } = operands;
    expectNear(got, op("elementwise", { a, b, c }, { code: ["a", "b", "c", "mul", "add"], constants: [] }));
  });
});

test("rows carry the checkpoint's names", () => {
  const { weights } = smallWeights({ "block.a.weight": [5, 7], "block.a.bias": [5] });
  const g = new Graph();
  linear(weights.at("block").at("a"), { cin: 7, cout: 5 })(g, g.input("x", [1, 1, 2, 7]));
  expect(g.rows.map(({ name }) => name)).toEqual(["block.a"]);
});
