import { computeReference, numbers, tooFar } from "@vd/conformance";
import { type OpId, openDevice } from "@vd/kernels-native";
import type { AttrValue } from "@vd/kernels-native/contract";
import { type Plain, plain } from "@vd/kernels-native/references";
import { expect } from "vitest";
import type { Graph } from "../../src/graph";
import { compile } from "../../src/plan/plan";
import type { Tensor } from "../../src/tensor";

const device = openDevice("cpu", { threads: 1 });

/** Float32 arithmetic through a few layers. */
const LIMIT = { nmse: 1e-11, worst: 1e-4 };

/** Random numbers as a plain tensor. */
export function random(name: string, dims: readonly number[]): Plain {
  const count = dims.reduce((product, size) => product * size, 1);
  return { dims, data: Float64Array.from(numbers(name, count)) };
}

/** Runs what `build` records on inputs of the given values; its result is the output. */
export async function run(
  inputs: Readonly<Record<string, Plain>>,
  build: (g: Graph, inputs: Record<string, Tensor>) => Tensor,
): Promise<Plain> {
  let dims: readonly number[] = [];
  const plan = await compile(device, (g) => {
    const tensors = Object.entries(inputs).map(([name, value]) => [name, g.input(name, value.dims)] as const);
    const y = build(g, Object.fromEntries(tensors));
    dims = y.dims;
    g.output("y", y);
  });
  for (const [name, { data }] of Object.entries(inputs)) plan.writeSync(name, Float32Array.from(data));
  await plan.run();
  const data = Float64Array.from(plan.readSync("y"));
  plan.freeSync();
  return { dims, data };
}

/** The first result of an op by its float64 reference, attributes at their defaults unless given. */
export function op(
  id: OpId,
  operands: Readonly<Record<string, Plain | undefined>>,
  attrs: Readonly<Record<string, AttrValue>> = {},
): Plain {
  return Object.values(computeReference(id, operands, attrs))[0]!;
}

/** The same numbers under other dimensions. */
export const shaped = ({ data }: Plain, dims: readonly number[]): Plain => ({ dims, data });

/** Sum of tensors, each with its factor. */
export const sum = (...terms: readonly (readonly [factor: number, tensor: Plain])[]): Plain => ({
  dims: terms[0]![1].dims,
  data: terms[0]![1].data.map((_, i) => terms.reduce((total, [factor, { data }]) => total + factor * data[i]!, 0)),
});

/** The channels `begin` to `end`. */
export function channels(x: Plain, begin: number, end: number): Plain {
  const all = x.dims.at(-1)!;
  const rows = x.data.length / all;
  const part = plain([rows, end - begin], (row, c) => x.data[row * all + begin + c]!);
  return shaped(part, [...x.dims.slice(0, -1), end - begin]);
}

/** Fails unless `got` is `wanted` but for rounding. */
export function expectNear(got: Plain, wanted: Plain, limit = LIMIT): void {
  expect(got.dims).toEqual(wanted.dims);
  expect(tooFar(got.data, wanted.data, limit)).toBe("");
}
