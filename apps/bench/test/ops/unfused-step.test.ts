import { openDevice } from "@vd/kernels-native";
import { type Operand, operandOf } from "@vd/kernels-native/contract";
import { createSampler, linearSteps, samplerNames } from "@vd/sampling";
import { layoutGraph, Plan } from "@vd/tensor";
import { expect, test } from "vitest";
import { svdConfig } from "../../../../tooling/testing/svd-sampling";
import { type BenchCase, benchCases } from "../../src/ops/cases";
import { opLayout } from "../../src/ops/op-plan";
import { operandsOf, placeOperands, unplaced } from "../../src/ops/operands";
import { unfusedStep } from "../../src/ops/unfused-step";

/** The ops of the sequence in place of a case, without an op name where there is none. */
function sequenceOf(name: string): string[] | undefined {
  const each = benchCases().find((bench) => bench.name === `sampler_step.${name}`)!;
  const unfused = unfusedStep(each);
  if (!unfused) return undefined;
  const { graph } = layoutGraph((g) => unfused(g, unplaced(operandsOf(each, "f16")), 0), { dtype: "f16" });
  return graph.rows.map(({ op }) => op);
}

test("a step without fusion is guidance, sums of at most four tensors and the next input", () => {
  expect(sequenceOf("svd-xt.sampler_step")).toEqual(["guide", "elementwise", "denoise_input"]);
  // Four terms: the next sample and both tensors of history.
  expect(sequenceOf("svd-xt.sampler_step.multistep")).toEqual([
    ...["guide", "elementwise", "elementwise", "elementwise", "denoise_input"],
  ]);
  expect(sequenceOf("svd-xt.sampler_step.clip")).toEqual([
    ...["guide", "elementwise", "elementwise", "elementwise", "denoise_input"],
  ]);
});

test("a blend is distances, the share of a pixel and the blend; four operands an op at most", () => {
  const blend = ["elementwise", "elementwise", "elementwise"];
  const around = (...inner: string[]) => ["guide", "elementwise", ...inner, "elementwise", "denoise_input"];
  expect(sequenceOf("svd-xt.sampler_step.blend")).toEqual(around(...blend));
  expect(sequenceOf("svd-xt.sampler_step.blend_first")).toEqual(around(...blend));
  expect(sequenceOf("svd-xt.sampler_step.threshold")).toEqual(around("sampler_step"));
});

test("what no other op does is a step that does nothing else", () => {
  expect(sequenceOf("svd-xt.sampler_step.philox")).toEqual(["guide", "sampler_step", "elementwise", "denoise_input"]);
  const everything = sequenceOf("svd-xt.sampler_step.everything")!;
  expect(everything.filter((op) => op === "sampler_step")).toHaveLength(2);
  // Data and next sample from five and six terms, two tensors of history; a blend.
  expect(everything.filter((op) => op === "elementwise")).toHaveLength(2 + 3 + 2 + 2 * 2);
  expect(unfusedStep(benchCases().find(({ op }) => op === "conv")!)).toBeUndefined();
});

/** A case with its numbers in place of the drawn ones. */
function withValues(name: string, values: Readonly<Record<string, readonly number[]>>): BenchCase {
  const each = benchCases().find((bench) => bench.name === `sampler_step.${name}`)!;
  const shapes = Object.entries(each.opCase.inputs) as [string, Operand | readonly number[]][];
  const small = shapes.map(([operand, given]) => {
    const dims = operandOf(given).dims.map((size) => ({ 25: 2, 72: 6, 128: 5 })[size] ?? size);
    const fill = values[operand] && { fill: { values: values[operand]! } };
    return [operand, { ...operandOf(given), dims, ...fill }] as const;
  });
  return { ...each, opCase: { ...each.opCase, inputs: Object.fromEntries(small) } };
}

/** The next samples of a case as the op and as the sequence give them. */
async function bothWays(each: BenchCase): Promise<[Float32Array, Float32Array]> {
  const device = openDevice("cpu", { threads: 1 });
  const placed = await placeOperands(device, operandsOf(each, "f32"), 1);
  const unfused = unfusedStep(each)!;
  const layouts = [
    opLayout(each, placed.sets, "f32"),
    layoutGraph((g) => unfused(g, placed.sets[0]!, 0), { dtype: "f32" }),
  ];
  const results: Float32Array[] = [];
  for (const layout of layouts) {
    const plan = await Plan.load(device, layout);
    await plan.run();
    results.push(await plan.read("result 0"));
    plan.freeSync();
  }
  placed.free();
  return results as [Float32Array, Float32Array];
}

// Coefficients of the op that are the sequence's own weights: rows of next sample, denoised, data prediction.
test("the sequence of a blend gives what the op gives", async () => {
  const coefficients = [0.9, -0.1, 0, 0.3, 0, 0, 0, 0, 0.9, -0.1, 0, 0];
  const [fused, unfused] = await bothWays(withValues("svd-xt.sampler_step.blend", { coefficients, blend: [0.5, 1] }));
  expect(Math.max(...fused.map((value, i) => Math.abs(value - unfused[i]!)))).toBeLessThan(1e-5);
  const without = await bothWays(withValues("svd-xt.sampler_step.blend", { coefficients, blend: [0, 1] }));
  expect(without[0]).not.toEqual(fused);
});

test("the sequence of drawn noise gives what the op gives", async () => {
  // Of a step that only draws: the noise alone.
  const words = [42, 0, 0, 0];
  const drawing = withValues("svd-xt.sampler_step.philox", { coefficients: [0, 0, 1, 0, 0, 0], philox: words });
  const [noise, half] = await bothWays(drawing);
  expect(Math.hypot(...noise) / Math.sqrt(noise.length)).toBeCloseTo(1, 0);
  // The sequence: 0.9 · x − 0.1 · prediction + 0.3 · noise.
  const whole = withValues("svd-xt.sampler_step.philox", { coefficients: [0.9, -0.1, 0.3, 0, 0, 0], philox: words });
  const [fused] = await bothWays(whole);
  expect(Math.max(...fused.map((value, i) => Math.abs(value - half[i]!)))).toBeLessThan(1e-5);
});

test("every sampler's step has a row: what it remembers, and whether it draws noise", () => {
  const rows = benchCases().filter(({ op, name }) => op === "sampler_step" && name.includes("svd-xt."));
  for (const name of samplerNames) {
    const { numHistory, tables } = linearSteps(createSampler(svdConfig, { name, steps: 6 }))!;
    const draws = tables.some((table) => table[2] !== 0);
    const same = rows.filter(({ opCase: { attrs = {}, inputs } }) => {
      const isPlain = attrs.bounds === undefined && !("philox" in inputs) && !("previous" in inputs);
      return isPlain && attrs.numHistory === numHistory && "noise" in inputs === draws;
    });
    expect(same, name).toHaveLength(1);
  }
});
