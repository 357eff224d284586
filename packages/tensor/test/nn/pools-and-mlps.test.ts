import { describe, expect, test } from "vitest";
import { Graph } from "../../src/graph";
import { avgPool, embedding, feedForward, maxPool } from "../../src/nn/index";
import { failure } from "../support/failure";
import { expectNear, op, random, run } from "../support/run-module";
import { smallWeights } from "../support/small-weights";

describe("pools", () => {
  const x = random("x", [1, 4, 6, 6, 5]);

  test("step by their kernel unless told otherwise", async () => {
    for (const [layer, mode] of [
      [maxPool({ kernel: [1, 2, 3] }), "max"],
      [avgPool({ kernel: [1, 2, 3] }), "average"],
    ] as const)
      expectNear(
        await run({ x }, (g, t) => layer(g, t.x!)),
        op("pool", { x }, { mode, kernel: [1, 2, 3], stride: [1, 2, 3] }),
      );
  });

  test("leave padding out of averages if told so", async () => {
    const window = {
      kernel: [3, 3, 3] as [number, number, number],
      stride: [1, 1, 1] as [number, number, number],
      padding: [1, 1, 1, 1, 1, 1] as [number, number, number, number, number, number],
    };
    const layer = avgPool({ ...window, countIncludePad: false, name: "p" });
    const wanted = op("pool", { x }, { mode: "average", ...window, countIncludePad: false });
    expectNear(await run({ x }, (g, t) => layer(g, t.x!)), wanted);
  });

  test("find NaN the largest, as PyTorch does", async () => {
    const data = Float64Array.from({ length: 16 }, (_, i) => (i === 5 ? Number.NaN : i));
    const layer = maxPool({ kernel: [1, 2, 2] });
    const got = await run({ x: { dims: [1, 1, 4, 4, 1], data } }, (g, t) => layer(g, t.x!));
    expect([...got.data]).toEqual([Number.NaN, 7, 13, 15]);
  });

  test("take no windows of padding alone", () => {
    const layer = maxPool({ kernel: [1, 3, 3], padding: [0, 0, 2, 0, 0, 0] });
    const error = failure(() => layer(new Graph(), new Graph().input("x", [1, 1, 4, 4, 3])));
    expect(error).toMatchObject({ expected: "at most half of the kernel on every side", got: "2" });
  });
});

describe("feed-forward", () => {
  test("is linear, silu gate, linear without biases where the checkpoint has it so", async () => {
    const { weights, plain } = smallWeights({ "ff.net.0.proj.weight": [20, 6], "ff.net.2.weight": [6, 10] });
    const x = random("x", [2, 2, 5, 6]);
    const layer = feedForward(weights.at("ff"), { channels: 6, inner: 10, act: "swiglu", bias: false });
    const hidden = op("linear", { x, weight: plain["ff.net.0.proj.weight"] }, { act: "swiglu" });
    const wanted = op("linear", { x: hidden, weight: plain["ff.net.2.weight"] });
    expectNear(await run({ x }, (g, t) => layer(g, t.x!)), wanted);
    weights.expectAllUsed();
  });

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
