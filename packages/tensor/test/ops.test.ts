import { type Device, isVdError, OPS, type OpId, openDevice } from "@vd/kernels-native";
import { CPU_FAST_PATHS, type OpCase, type OpCases, type Operand, operandOf } from "@vd/kernels-native/contract";
import { describe, expect, test } from "vitest";
import { layoutGraph } from "../src/plan/layout";
import { type CaseResult, CaseRun, camel } from "./ops/case-run";
import { tooFar } from "./ops/compare";
import { loadCases } from "./ops/load-cases";

const ALL = await loadCases();
const ISAS = ["plain", "avx2", "avx512", "best"] as const;
const reference = openDevice("cpu", { reference: true, threads: 2 });
const backends = ISAS.map((isa) => ({ isa, one: openDevice("cpu", { isa, threads: 1 }) }));
const pairs = (["plain", "best"] as const).map((isa) => ({ isa, two: openDevice("cpu", { isa, threads: 2 }) }));

const operandsOf = (each: OpCase) =>
  (Object.entries(each.inputs) as [string, Operand | readonly number[]][]).map(([name, given]) => ({
    name,
    operand: operandOf(given),
  }));

/** A 16-bit operand that is no weight: the CPU computes in float32 and says so. */
function narrowOperand({ op }: OpCases, each: OpCase): string | undefined {
  const narrow = ({ operand }: { operand: Operand }) => operand.dtype === "f16" || operand.dtype === "bf16";
  const found = operandsOf(each).find(
    (o) => narrow(o) && !op.inputs[o.name]!.constant && !op.inputs[o.name]!.halfOnCpu,
  );
  return found?.name;
}

/** Everything that is wrong with `results`, against the right numbers or another backend's. */
function faults(op: OpCases["op"], got: CaseResult, wanted: Readonly<Record<string, ArrayLike<number>>>): string[] {
  return Object.entries(got.values)
    .map(([name, values]) => [name, tooFar(values, wanted[name]!, op.tolerance.f32!)] as const)
    .filter(([, text]) => text)
    .map(([name, text]) => `${name}: ${text}`);
}

async function checkCase({ op }: OpCases, run: CaseRun): Promise<void> {
  const right = await run.runOn(reference);
  const expected = Object.fromEntries(Object.entries(run.expected).map(([name, plain]) => [name, plain.data]));
  expect(faults(op, right, expected), "the reference against float64").toEqual([]);
  const single: Record<string, CaseResult> = {};
  for (const { isa, one } of backends) {
    single[isa] = await run.runOn(one);
    expect(faults(op, single[isa], right.values), `${isa} against the reference`).toEqual([]);
  }
  for (const { isa, two } of pairs) {
    const both = await run.runOn(two);
    expect(both.bytes.equals(single[isa]!.bytes), `${isa}: 1 and 2 threads give the same bits`).toBe(true);
  }
}

/** True if `device` serves a case with a fast path. */
async function isFast(id: OpId, each: OpCase, device: Device): Promise<boolean> {
  const run = new CaseRun(id, each);
  try {
    return (await run.runOn(device)).fast;
  } finally {
    run.free();
  }
}

describe.each(ALL.map((each) => [each.id, each.cases] as const))("%s", (id, cases) => {
  test.each(cases.correctness.map((each) => [`${id}: ${each.name}`, each] as const))("%s", async (_, each) => {
    const run = new CaseRun(id, each);
    try {
      const narrow = narrowOperand(cases, each);
      if (narrow === undefined) return await checkCase(cases, run);
      const error: unknown = await run.runOn(reference).catch((reason: unknown) => reason);
      expect(isVdError(error) && error.code, "the CPU declines 16-bit activations").toBe("unsupported");
      expect((error as Error).message).toContain(`[${each.name}] [${narrow}]`);
    } finally {
      run.free();
    }
  });

  const changing = cases.correctness.filter((each) =>
    operandsOf(each).some(({ operand }) => operand.constant === false),
  );
  test.each(changing.map((each) => [`${id}: ${each.name}, then others`, each] as const))("%s", async (_, each) => {
    for (const device of [reference, ...backends.map(({ one }) => one)]) {
      const run = new CaseRun(id, each);
      const got = await run.runWithChanges(device);
      const expected = Object.fromEntries(Object.entries(run.expected).map(([name, plain]) => [name, plain.data]));
      expect(faults(cases.op, got, expected)).toEqual([]);
      run.free();
    }
  });

  test(`${id}: cost and shapes of all cases`, () => {
    const names = [...cases.correctness, ...cases.bench].map(({ name }) => name);
    expect(new Set(names).size, "names are unique").toBe(names.length);
    expect(cases.op).toBe(OPS[id]);
    for (const each of [...cases.correctness, ...cases.bench]) {
      const { cost, graph } = layoutGraph((g) => {
        const inputs = operandsOf(each).map(({ name, operand }) => [name, g.input(name, operand.dims, operand.dtype)]);
        const options = { ...each.attrs, ...Object.fromEntries(inputs), name: each.name };
        (g[camel(id) as "copy"] as (options: never) => unknown)(options as never);
      });
      expect(Number.isSafeInteger(cost.flops) && cost.flops >= 0, `${each.name}: ${cost.flops} FLOP`).toBe(true);
      expect(graph.rows[0]!.outputs[0]!.dims.every((dim) => dim >= 1)).toBe(true);
    }
  });

  // Comparisons with the reference would mean nothing if the reference itself served them.
  if (!CPU_FAST_PATHS.includes(id)) return;

  test(`${id}: fast paths serve most cases`, async () => {
    const full = cases.correctness.filter((each, i) => i % 4 === 0 && narrowOperand(cases, each) === undefined);
    for (const { isa, one } of backends) {
      const served = await Promise.all(full.map((each) => isFast(id, each, one)));
      const share = served.filter(Boolean).length / full.length;
      expect(share, `${isa}: share of cases on a fast path`).toBeGreaterThan(0.8);
    }
  });
});
