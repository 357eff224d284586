import { type DType, type OpId, openDevice } from "@vd/kernels-native";
import { OP_CASES } from "@vd/kernels-native/cases";
import { type Operand, operandOf } from "@vd/kernels-native/contract";
import { Plan } from "@vd/tensor";
import { describe, expect, it } from "vitest";
import type { BenchCase } from "../../../src/ops/cases";
import {
  type ExactResult,
  errorsOf,
  exactResult,
  type Float64Errors,
  float64Errors,
  wholeErrors,
} from "../../../src/ops/float64/float64-error";
import { chosen, Numbers } from "../../../src/ops/float64/numbers";
import { opLayout } from "../../../src/ops/op-plan";
import { operandsOf, placeOperands, unplaced } from "../../../src/ops/operands";

const device = openDevice("cpu", { threads: 2 });
const correctness = (op: OpId): BenchCase[] =>
  OP_CASES[op].correctness.map((opCase) => ({ op, name: `${op}.${opCase.name}`, opCase }));
const caseOf = (op: OpId, name: string): BenchCase => correctness(op).find((each) => each.opCase.name === name)!;

function exactOf(each: BenchCase, dtype: DType = "f32"): ExactResult | undefined {
  const operands = operandsOf(each, dtype);
  const { graph, cost } = opLayout(each, [unplaced(operands)], dtype);
  const { dims, dtype: type } = graph.outputs.get("result 0")!;
  return exactResult(each, operands, { dims, dtype: type, flops: cost.flops }, dtype);
}

async function measured(each: BenchCase, dtype: DType = "f32"): Promise<Float64Errors | undefined> {
  const exact = exactOf(each, dtype);
  if (!exact) return undefined;
  const placed = await placeOperands(device, operandsOf(each, dtype), 1);
  const plan = await Plan.load(device, opLayout(each, placed.sets, dtype));
  try {
    await plan.run();
    return await float64Errors(exact, plan);
  } finally {
    plan.freeSync();
    placed.free();
  }
}

const isHalf = (given: Operand | readonly number[]) => /16/.test(operandOf(given).dtype ?? "");

/** Cases of an op that the CPU takes and computes in milliseconds; packed sequences are no timed calls. */
const quickCases = (op: OpId) =>
  correctness(op).filter((each) => {
    const { weight: _, bias: __, ...inputs } = each.opCase.inputs as Record<string, Operand | readonly number[]>;
    if ("cuQ" in inputs || Object.values(inputs).some(isHalf)) return false;
    return opLayout(each, [unplaced(operandsOf(each, "f32"))], "f32").cost.flops < 2 ** 22;
  });

const FULL = [
  "linear",
  "conv",
  "conv_winograd",
  "group_norm_conv",
  "attention",
  "layer_norm",
  "layer_norm_linear",
  "rms_norm",
  "group_norm",
] as const;
const IN_8_BITS = [
  "linear_q8",
  "layer_norm_linear_q8",
  "conv_q8",
  "group_norm_conv_q8",
  "attention_q8",
  "attention_f8",
] as const;
const IN_CODES = [
  "attention_f8_codes",
  "linear_q8_codes",
  "layer_norm_linear_q8_codes",
  "conv_q8_codes",
  "layer_norm_q8",
  "group_norm_q8",
  "quantize",
] as const;

describe("elements of a result in float64", () => {
  it.each([...FULL, ...IN_8_BITS])("are what the CPU computes of every case of %s", async (op) => {
    for (const each of quickCases(op)) {
      const { float64Error, float64Elements } = (await measured(each))!;
      const limit = Math.sqrt(OP_CASES[op].op.tolerance.f32!.nmse);
      // What is exact, as a norm of one element, has nothing to be relative to.
      if (!Number.isNaN(float64Error)) expect(float64Error, each.name).toBeLessThan(5 * limit);
      expect(float64Elements, each.name).toBeGreaterThan(0);
    }
  });

  it.each(IN_CODES)("are the codes of every case of %s, but for ties", async (op) => {
    for (const each of quickCases(op)) {
      const { float64Error } = (await measured(each))!;
      if (!Number.isNaN(float64Error)) expect(float64Error, each.name).toBeLessThan(0.05);
    }
  });

  it("are all of a small call of an op that has no other way, and none of a large one", async () => {
    const small = caseOf("guide", "odd");
    expect(await measured(small)).toMatchObject({ float64Elements: 5 * 3 * 4 * 4 });
    expect((await measured(small))!.float64Error).toBeLessThan(1e-6);
    const opCase = { name: "large", inputs: { x: [2, 25, 72, 128, 4], scale: [25] } };
    expect(exactOf({ op: "guide", name: "guide.large", opCase })).toBeUndefined();
    expect(exactOf(correctness("attention").find(({ opCase }) => "cuQ" in opCase.inputs)!)).toBeUndefined();
  });

  it("say what 8 bits cost, which is more than the kernel's own error", async () => {
    const cost = async (op: OpId, name: string) => (await measured(caseOf(op, name)))!;
    // A number of 3 bits of mantissa is off by 2.6 % (root mean square), one of 1/127 of the largest by 0.7 %; products have two of them.
    const float8 = await cost("linear_q8", "5 blocks, f8e4m3");
    expect(float8.float64Error).toBeLessThan(1e-5);
    expect(float8.unroundedError).toBeGreaterThan(0.02);
    expect(float8.unroundedError).toBeLessThan(0.06);
    const integers = await cost("linear_q8", "5 blocks, i8");
    expect(integers.unroundedError).toBeGreaterThan(0.005);
    expect(integers.unroundedError).toBeLessThan(0.02);
    const codes = await cost("linear_q8_codes", "silu, everything, i8");
    expect(codes.unroundedError).toBeGreaterThan(integers.unroundedError!);
    const rounded = await cost("quantize", "1x2x9x128 per row, f8e4m3");
    expect(rounded.float64Error).toBe(0);
    expect(rounded.unroundedError).toBeCloseTo(0.026, 2);
    expect((await cost("linear", "odd")).unroundedError).toBeUndefined();
  });

  it("are of operands as they are stored, and of what a result's own type leaves", async () => {
    const half = (await measured(caseOf("attention", "q, k and v f16")))!;
    // Rounding the result to 11 bits is all.
    expect(half.float64Error).toBeGreaterThan(1e-5);
    expect(half.float64Error).toBeLessThan(5e-4);
  });

  it("tell a wrong result from a right one", () => {
    const exact = exactOf(caseOf("linear", "odd"))!;
    const right = Float32Array.from(exact.own.values);
    expect(errorsOf(exact, right).float64Error).toBeLessThan(1e-7);
    const wrong = right.slice();
    wrong[3] = wrong[3]! + 1;
    expect(errorsOf(exact, wrong).float64Error).toBeGreaterThan(0.01);
    const all = new Float32Array(1 + exact.own.places.reduce((most, place) => Math.max(most, place), 0));
    exact.own.places.forEach((place, i) => {
      all[place] = right[i]!;
    });
    expect(wholeErrors(exact, all)).toEqual(errorsOf(exact, right));
  });
});

describe("what is drawn", () => {
  it("is the same for the same name, without order or gaps in numbers that are no more than asked for", () => {
    expect(chosen("a", 5, 3)).toEqual([0, 1, 2]);
    const drawn = chosen("a", 64, 2 ** 40);
    expect(drawn).toEqual(chosen("a", 64, 2 ** 40));
    expect(drawn).not.toEqual(chosen("b", 64, 2 ** 40));
    expect(drawn.every((value) => Number.isInteger(value) && value >= 0 && value < 2 ** 40)).toBe(true);
    expect(drawn.some((value) => value > 2 ** 39) && drawn.some((value) => value < 2 ** 39)).toBe(true);
  });

  it("repeats the pattern to the operand's end", () => {
    const numbers = new Numbers([3, 4], Float32Array.of(1, 2, 3, 4, 5));
    const target = new Float64Array(9);
    numbers.copy(2, target, 1, 8);
    expect([...target]).toEqual([0, 3, 4, 5, 1, 2, 3, 4, 5]);
    expect(numbers.at(2, 3)).toBe(2);
    expect(new Numbers([1, 4], numbers.pattern).at(2, 3)).toBe(4);
  });
});
