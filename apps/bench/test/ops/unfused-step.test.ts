import { layoutGraph } from "@vd/tensor";
import { expect, test } from "vitest";
import { benchCases } from "../../src/ops/cases";
import { operandsOf, unplaced } from "../../src/ops/operands";
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

test("what no other op does has no sequence", () => {
  for (const name of ["philox", "threshold", "blend", "everything"])
    expect(sequenceOf(`svd-xt.sampler_step.${name}`)).toBeUndefined();
  expect(unfusedStep(benchCases().find(({ op }) => op === "conv")!)).toBeUndefined();
});
