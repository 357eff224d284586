import { OPS, type OpId, openDevice } from "@vd/kernels-native";
import { describe, expect, test } from "vitest";
import { eager as eagerOn } from "../src/eager";
import { Graph } from "../src/graph";
import { opMethod } from "../src/op-method";
import { compile } from "../src/plan/plan";
import { channelRange } from "../src/tensor";
import { failure, rejection } from "./support/failure";

const device = openDevice("cpu", { threads: 1 });
const eager = eagerOn(device);
const ramp = (count: number) => Float32Array.from({ length: count }, (_, i) => Math.sin(3 * i));

describe("eager mode", () => {
  test("has every op", () => {
    expect(Object.keys(eager.ops).sort()).toEqual((Object.keys(OPS) as OpId[]).map(opMethod).sort());
  });

  test("gives the same bits as a plan of several rows", async () => {
    const [x, w, b] = [ramp(2 * 6 * 8), ramp(24 * 8), ramp(24)];
    const t = (data: Float32Array, dims: number[]) => eager.tensor(data, dims, "f32", true);
    const weight = t(w, [24, 8]);
    const bias = t(b, [24]);
    const h = await eager.ops.linear({ x: eager.tensor(x, [1, 2, 6, 8]), weight, bias, act: "silu" });
    const [q, k, v] = [0, 8, 16].map((begin) => channelRange(h, begin, begin + 8));
    const y = await eager.ops.attention({ q: q!, k: k!, v: v!, heads: 2, scale: 0.5 });
    const plan = await compile(device, (g) => {
      const hidden = g.linear({ x: g.input("x", [1, 2, 6, 8]), weight, bias, act: "silu" });
      const [a, c, d] = [0, 8, 16].map((begin) => channelRange(hidden, begin, begin + 8));
      g.output("y", g.attention({ q: a!, k: c!, v: d!, heads: 2, scale: 0.5 }));
    });
    plan.writeSync("x", x);
    await plan.run();
    expect(eager.readSync(y)).toEqual(plan.readSync("y"));
    plan.freeSync();
  });

  test("writes into a place that is given and fills further results", async () => {
    const both = eager.zeros([1, 1, 2, 6]);
    const left = await eager.ops.copy({ x: eager.tensor([1, 2, 3, 4], [1, 1, 2, 2]), out: channelRange(both, 1, 3) });
    expect([...eager.readSync(both)]).toEqual([0, 1, 2, 0, 0, 0, 0, 3, 4, 0, 0, 0]);
    expect(left.storage).toBe(both.storage);
    const one = eager.tensor([0, 0], [1, 1, 1, 2]);
    const lse = eager.zeros([1, 1, 1, 1]);
    const keys = eager.tensor(new Float32Array(8), [1, 1, 4, 2]);
    await eager.ops.attention({ q: one, k: keys, v: keys, heads: 1, scale: 1, outputs: { lse } });
    expect(eager.readSync(lse)[0]).toBeCloseTo(Math.log(4), 6);
  });

  test("stores numbers in every type and gives them back", () => {
    const numbers = [0, 1, 2, 100];
    for (const dtype of ["f32", "f16", "bf16", "i32", "u8", "i8"] as const)
      expect([...eager.readSync(eager.tensor(numbers, [4], dtype))], dtype).toEqual(numbers);
    expect([...eager.readSync(eager.tensor([-3, 7], [2], "i8"))]).toEqual([-3, 7]);
    expect(eager.readSync(eager.tensor([0.1], [1], "f16"))[0]).toBe(0.0999755859375);
  });

  test("reports wrong arguments before it runs, and wrong data when it is given", async () => {
    const x = eager.tensor(ramp(6), [1, 1, 2, 3]);
    const wrong = eager.ops.linear({ name: "m", x, weight: eager.tensor(ramp(8), [2, 4]) });
    expect((await rejection(wrong)).message).toBe("[m] [linear] [weight] expected [2,3], got f32[2,4]");
    expect(failure(() => eager.tensor([1, 2], [3])).message).toBe("[eager] expected 3 numbers for f32[3], got 2");
  });

  test("refuses tensors without contents, and calls that have no form", async () => {
    const recorded = new Graph().input("x", [1, 1, 2, 3]);
    const x = eager.tensor(ramp(6), [1, 1, 2, 3]);
    const message = async (options: unknown) => (await rejection(eager.ops.pointwise(options as never))).message;
    expect(await message({ name: "m", a: recorded })).toContain("[m] [pointwise] [a] expected a tensor with contents");
    expect(await message({ name: "m", a: x, b: recorded })).toContain("[m] [pointwise] [b] expected");
    expect(failure(() => eager.readSync(recorded)).message).toContain("got f32[1,1,2,3] of a graph");
    expect(await message(undefined)).toBe(
      "[pointwise#0] [pointwise] expected an object with the call's arguments, got undefined",
    );
    expect(await message({ name: "m", a: x, out: 4 })).toBe("[m] [pointwise] [out] expected a tensor, got number");
    expect(await message({ name: "m", a: null })).toBe("[m] [pointwise] [a] expected a tensor, got null");
    expect(await message({ name: "m", a: x, outputs: 4 })).toContain(
      "[outputs] expected an object with places by name",
    );
    const one = eager.tensor([0, 0], [1, 1, 1, 2]);
    const call = { name: "m", q: one, k: one, v: one, heads: 1, scale: 1 };
    const [noTensor, noContents] = [5, new Graph().empty([1, 1, 1, 1])].map((lse) => ({ lse }) as never);
    expect(await rejection(eager.ops.attention({ ...call, outputs: noTensor! }))).toMatchObject({ got: "number" });
    expect(await rejection(eager.ops.attention({ ...call, outputs: noContents! }))).toMatchObject({ code: "layout" });
  });

  test.each([[[2, -3]], [[2, 1.5]], [[2, Number.NaN]], [[0, 3]], [[2 ** 30, 2 ** 30]], [5 as never]])(
    "makes no tensor of %j",
    (dims: number[]) => {
      expect(failure(() => eager.zeros(dims))).toMatchObject({ code: "shape", where: "eager" });
      expect(failure(() => eager.tensor([1], dims)).code).toBe("shape");
    },
  );

  test("makes no tensor of an unknown type or of nothing", () => {
    expect(failure(() => eager.zeros([1], "f64" as never)).message).toContain('or f8e4m3, got "f64"');
    expect(failure(() => eager.tensor(undefined as never, [2])).message).toBe(
      "[eager] expected 2 numbers for f32[2], got undefined",
    );
  });

  test("refuses offsets of packed sequences that leave their tensor", async () => {
    const t = eager.tensor(ramp(12), [1, 1, 3, 4]);
    const offsets = (...values: number[]) => eager.tensor(values, [values.length], "i32");
    const run = (cuQ: number[], cuK: number[]) =>
      eager.ops.attention({
        name: "m",
        q: t,
        k: t,
        v: t,
        heads: 1,
        scale: 1,
        cuQ: offsets(...cuQ),
        cuK: offsets(...cuK),
      });
    expect(await rejection(run([0, 4], [0, 3]))).toMatchObject({
      code: "attr",
      where: "m] [attention] [cuQ",
      got: "4",
    });
    expect(await rejection(run([0, 2, 3], [0, 3, 1]))).toMatchObject({ where: "m] [attention] [cuK", got: "1" });
    expect(await rejection(run([0, 3], [-1, 3]))).toMatchObject({ got: "-1" });
    expect(eager.readSync(await run([0, 3], [0, 3]))).toHaveLength(12);
  });
});
