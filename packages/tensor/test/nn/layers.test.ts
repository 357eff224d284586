import { describe, expect, test } from "vitest";
import { Graph } from "../../src/graph";
import { conv, embedding, feedForward, groupNorm, layerNorm, linear } from "../../src/nn/index";
import { failure } from "../support/failure";
import { expectNear, op, random, run, shaped } from "../support/run-module";
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

describe("feed-forward", () => {
  test("is linear, gelu gate, linear", async () => {
    const { weights, plain } = smallWeights({
      "ff.net.0.proj.weight": [48, 6],
      "ff.net.0.proj.bias": [48],
      "ff.net.2.weight": [6, 24],
      "ff.net.2.bias": [6],
    });
    const x = random("x", [2, 2, 5, 6]);
    const layer = feedForward(weights.at("ff"), { channels: 6 });
    const got = await run({ x }, (g, t) => layer(g, t.x!, { residual: t.x, residualScale: 2 }));
    const hidden = op(
      "linear",
      { x, weight: plain["ff.net.0.proj.weight"], bias: plain["ff.net.0.proj.bias"] },
      { act: "geglu" },
    );
    const second = { x: hidden, weight: plain["ff.net.2.weight"], bias: plain["ff.net.2.bias"], residual: x };
    expectNear(got, op("linear", second, { residualScale: 2 }));
    weights.expectAllUsed();
  });

  test("takes other inner and outer widths", async () => {
    const { weights } = smallWeights({
      "net.0.proj.weight": [10, 6],
      "net.0.proj.bias": [10],
      "net.2.weight": [3, 5],
      "net.2.bias": [3],
    });
    const layer = feedForward(weights, { channels: 6, inner: 5, cout: 3 });
    expect((await run({ x: random("x", [1, 1, 2, 6]) }, (g, t) => layer(g, t.x!))).dims).toEqual([1, 1, 2, 3]);
  });
});

describe("embedding", () => {
  const { weights, plain } = smallWeights({
    "e.linear_1.weight": [12, 8],
    "e.linear_1.bias": [12],
    "e.linear_2.weight": [5, 12],
    "e.linear_2.bias": [5],
  });

  test("is linear, silu, linear", async () => {
    const x = random("x", [1, 3, 1, 8]);
    const layer = embedding(weights.at("e"), { cin: 8, inner: 12, cout: 5 });
    const first = op(
      "linear",
      { x, weight: plain["e.linear_1.weight"], bias: plain["e.linear_1.bias"] },
      { act: "silu" },
    );
    const wanted = op("linear", { x: first, weight: plain["e.linear_2.weight"], bias: plain["e.linear_2.bias"] });
    expectNear(await run({ x }, (g, t) => layer(g, t.x!)), wanted);
  });

  test("is as wide as its inside unless told otherwise", () => {
    expect(failure(() => embedding(weights.at("e"), { cin: 8, inner: 12 })).expected).toBe("a shape of [12,12]");
  });
});

test("rows carry the checkpoint's names", () => {
  const { weights } = smallWeights({ "block.a.weight": [5, 7], "block.a.bias": [5] });
  const g = new Graph();
  linear(weights.at("block").at("a"), { cin: 7, cout: 5 })(g, g.input("x", [1, 1, 2, 7]));
  expect(g.rows.map(({ name }) => name)).toEqual(["block.a"]);
});
