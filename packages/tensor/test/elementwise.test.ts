import { ELEMENTWISE_UNARY, openDevice } from "@vd/kernels-native";
import { describe, expect, test } from "vitest";
import { Eager } from "../src/eager";
import { type ElementwiseFunctions, type ElementwiseTerm, elementwise } from "../src/elementwise";
import { Graph } from "../src/graph";
import { recordOp } from "../src/op-method";
import { rowKey } from "../src/tune/row-key";
import { failure } from "./support/failure";
import { expectNear, op, random, run } from "./support/run-module";

const x = [2, 3, 5, 8];

/** What an expression of tensors of the given sizes is recorded as. */
function recorded(
  dims: Readonly<Record<string, number[]>>,
  build: (e: ElementwiseFunctions, t: Tensors) => ElementwiseTerm,
) {
  const g = new Graph();
  const tensors = Object.fromEntries(Object.entries(dims).map(([name, size]) => [name, g.input(name, size)]));
  elementwise(g, (e) => build(e, tensors), { name: "the.row" });
  return g.rows[0]!;
}
type Tensors = Record<string, ReturnType<Graph["input"]>>;

const codeOf = (row: ReturnType<typeof recorded>) => /code=(\S+)/.exec(rowKey(row))![1];

describe("elementwise", () => {
  test.each([
    ["nothing", () => undefined],
    ["null", () => null],
    ["a missing argument", (e: ElementwiseFunctions, t: Tensors) => e.add(t.a!, undefined as never)],
    ["text", (e: ElementwiseFunctions, t: Tensors) => e.add(t.a!, "2" as never)],
    ["NaN", (e: ElementwiseFunctions, t: Tensors) => e.silu(e.mul(Number.NaN, t.a!))],
    ["infinity", (e: ElementwiseFunctions, t: Tensors) => e.min(t.a!, Number.POSITIVE_INFINITY)],
  ])("refuses %s in an expression by what it is", (_, build) => {
    const error = failure(() => recorded({ a: x }, build as never));
    expect(error).toMatchObject({ code: "attr", expected: "finite numbers, tensors and functions of them" });
    expect(error.hint).toBeUndefined();
  });

  test("computes silu(a + b · c)", async () => {
    const [a, b, c] = [random("a", x), random("b", [2, 1, 1, 8]), random("c", x)];
    const got = await run({ a, b, c }, (g, t) => elementwise(g, (e) => e.silu(e.add(t.a!, e.mul(t.b!, t.c!)))));
    expectNear(got, op("elementwise", { a, b, c }, { code: ["a", "b", "c", "mul", "add", "silu"], constants: [] }));
    expectNear(got, op("pointwise", { a, b: expanded(b), c }, { act: "silu" }));
    function expanded({ data }: typeof b) {
      return { dims: x, data: Float64Array.from({ length: 240 }, (_, i) => data[(i >= 120 ? 8 : 0) + (i % 8)]!) };
    }
  });

  test("writes operands once, the one of the result's shape first", () => {
    const row = recorded({ gate: [2, 1, 1, 8], branch: x }, (e, { gate, branch }) =>
      e.add(e.mul(gate!, branch!), e.mul(gate!, 2)),
    );
    expect(row.inputs.map((input) => input?.storage.name)).toEqual(["branch", "gate", undefined, undefined]);
    expect(codeOf(row)).toBe("b+a+mul+b+k0+mul+add");
    expect(row.flops).toBe(3 * 240);
  });

  test("takes an expression that is a tensor", () => {
    expect(codeOf(recorded({ a: x }, (_, { a }) => a!))).toBe("a");
  });

  test("computes the deeper of two operands first where there would be no room", () => {
    const row = recorded({ a: x }, (e, { a }) => {
      let sum: ElementwiseTerm = a!;
      for (let i = 0; i < 5; i++) sum = e.add(1, sum);
      return sum;
    });
    expect(codeOf(row)).toBe("k0+a+add+k0+add+k0+add+k0+add+k0+add");
  });

  test("names what does not fit", () => {
    const four = { a: x, b: x, c: x, d: x };
    const messageOf = (
      dims: Readonly<Record<string, number[]>>,
      build: (e: ElementwiseFunctions, t: Tensors) => ElementwiseTerm,
    ) => failure(() => recorded(dims, build)).message;
    expect(messageOf({ ...four, e: x }, (e, t) => Object.values(t).reduce<ElementwiseTerm>(e.add, 1))).toContain(
      "[the.row] [elementwise] expected at most 4 different tensors, got 5",
    );
    expect(messageOf({ a: x }, (e, { a }) => [1, 2, 3, 4, 5].reduce<ElementwiseTerm>(e.add, a!))).toContain(
      "expected at most 4 different numbers, got 5",
    );
    expect(
      messageOf({ a: x }, (e, { a }) => Array.from({ length: 8 }).reduce<ElementwiseTerm>((y) => e.mul(y, a!), a!)),
    ).toContain("expected at most 16 operands and functions, got 17");
    expect(messageOf(four, () => 3)).toContain("expected a tensor in the expression, got none");
    expect(messageOf({ a: [2, 1, 1, 8], b: [1, 3, 1, 8] }, (e, { a, b }) => e.add(a!, b!))).toContain(
      "expected a tensor of the result's shape [2,3,1,8], got f32[2,1,1,8] and f32[1,3,1,8]",
    );
    expect(messageOf({ a: x, b: [2, 3, 4, 8] }, (e, { a, b }) => e.add(a!, b!))).toContain(
      "expected operands [B,F,S,C] of sizes that are 5 or 1 in dimension 2, got f32[2,3,4,8]",
    );
    const balanced = (e: ElementwiseFunctions, depth: number, leaf: ElementwiseTerm): ElementwiseTerm =>
      depth === 0 ? leaf : e.sub(leaf, balanced(e, depth - 1, leaf));
    expect(messageOf({ a: x }, (e, { a }) => balanced(e, 4, a!))).toContain(
      "expected an expression that needs at most 4 numbers at a time, got 5",
    );
  });
});

describe("NaN", () => {
  const devices = {
    definition: { reference: true },
    ...Object.fromEntries(["plain", "avx2", "best"].map((isa) => [isa, { isa }])),
  };
  const wanted: Readonly<Record<string, readonly number[]>> = {
    // Of NaN alone; then of NaN and 2, 2 and NaN, NaN and NaN.
    ...Object.fromEntries(ELEMENTWISE_UNARY.filter((name) => name !== "relu").map((name) => [name, [Number.NaN]])),
    relu: [0],
    ...Object.fromEntries(["add", "sub", "mul", "div"].map((name) => [name, Array(3).fill(Number.NaN)])),
    ...Object.fromEntries(["min", "max"].map((name) => [name, [2, 2, Number.NaN]])),
  };

  test.each(Object.entries(devices))("stays NaN but in min, max and relu: %s", async (_, options) => {
    if (process.arch !== "x64" && "isa" in options && options.isa !== "best") return;
    const e = new Eager(openDevice("cpu", { threads: 1, ...options }));
    const of = (...values: number[]) => e.tensor(values, [1, 1, 1, values.length]);
    for (const [name, results] of Object.entries(wanted)) {
      const [a, b] = [of(Number.NaN, 2, Number.NaN), of(2, Number.NaN, Number.NaN)];
      const isBinary = results.length === 3;
      const code = (isBinary ? ["a", "b", name] : ["a", name]) as "a"[];
      const y = await e.ops.elementwise({ a, ...(isBinary ? { b } : {}), code });
      expect([name, ...e.readSync(y).subarray(0, results.length)]).toEqual([name, ...results]);
    }
  });
});

describe("the op's own checks", () => {
  const record = (code: readonly string[], more: Record<string, unknown> = {}) => {
    const g = new Graph();
    return failure(() => recordOp(g, "elementwise", { name: "r", a: g.input("a", x), code, ...more } as never)).message;
  };

  test.each([
    [
      ["add"],
      "[r] [elementwise] [code] expected every instruction to find what it takes on a stack of at most 4 numbers, got add",
    ],
    [["a", "a", "a", "a", "a"], "stack of at most 4 numbers, got a"],
    [["a", "a"], "[code] expected a program that leaves one number on the stack, got 2"],
    [["a", "end", "silu"], "[code] expected nothing behind the end, got silu"],
    [[], "[code] expected a program that leaves one number on the stack, got 0"],
    [["a", "b", "add"], "[b] expected a tensor, as the program reads it, got 0"],
    [["a", "sine"], "[code] expected one of end, a, b,"],
    [new Array(17).fill("a"), "[code] expected a list of at most 16, got 17"],
  ])("%j", (code, message) => {
    expect(record(code)).toContain(message);
  });

  test("constants are numbers, at most four", () => {
    expect(record(["a"], { constants: [1, 2, 3, 4, 5] })).toContain("[constants] expected a list of at most 4, got 5");
    expect(record(["a"], { constants: [Number.NaN] })).toContain("[constants] expected a number from");
  });
});
