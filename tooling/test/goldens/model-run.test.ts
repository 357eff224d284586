import type { Graph } from "@vd/tensor";
import { expect, test } from "vitest";
import type { Fixture, TensorCheck } from "../../goldens/kind";
import { activationType } from "../../goldens/kind";
import { repeated, runModel } from "../../goldens/model-run";

const doubled = [2, 4, 6, 8];

/** As much of a fixture as runModel looks at. */
const fixture = {
  json: { tolerance: { float32: { rel_l2: 1e-6 } } },
  shape: () => [4],
  float64: (name: string) => Float64Array.from(name === "out.wrong" ? [2, 4, 6, 9] : doubled),
} as unknown as Fixture;

function build(g: Graph): void {
  const x = g.input("x", [1, 1, 1, 4]);
  const y = g.pointwise({ name: "twice", a: x, aScale: 2 });
  g.tap("twice", y);
  g.output("y", y);
}

async function checksOf(golden: Record<string, string>): Promise<TensorCheck[]> {
  const expectations = Object.entries(golden).map(([name, ours]) => ({ golden: name, ours }));
  const run = { fixture, context: { device: "cpu", dtype: "float32" } as const, build, inputs: { x: [1, 2, 3, 4] } };
  const checks: TensorCheck[] = [];
  for await (const check of runModel({ ...run, expectations })) checks.push(check);
  return checks;
}

test("a golden is compared with the result that is kept under its module's path", async () => {
  const checks = await checksOf({ "out.right": "twice", "out.wrong": "y" });
  expect(checks.map(({ name, ok }) => [name, ok])).toEqual([
    ["out.right", true],
    ["out.wrong", false],
  ]);
});

test("a golden whose module keeps no result fails by name, and the others are compared all the same", async () => {
  const checks = await checksOf({ "out.other": "thrice", "out.right": "y" });
  expect(checks.map(({ name, ok, note }) => [name, ok, note])).toEqual([
    ["out.other", false, "no result is kept under thrice"],
    ["out.right", true, undefined],
  ]);
});

test("what all clips share is repeated to the golden's length, and nothing else is", () => {
  const values = Float32Array.of(1, 2);
  expect([...repeated(values, 6)]).toEqual([1, 2, 1, 2, 1, 2]);
  expect(repeated(values, 2)).toBe(values);
  expect(repeated(values, 5)).toBe(values);
});

test("16-bit activations are for devices that have them: the CPU computes in float32", () => {
  expect(activationType({ device: "cpu", dtype: "float16" })).toBe("f32");
  expect(activationType({ device: "cuda", dtype: "float16" })).toBe("f16");
  expect(activationType({ device: "cuda", dtype: "bfloat16" })).toBe("bf16");
});
