import { OPS, type OpId } from "@vd/kernels-native";
import { OP_CASES } from "@vd/kernels-native/cases";
import { describe, expect, it } from "vitest";
import { MOVES } from "../../src/export/ops/forms";
import { MAPPINGS } from "../../src/export/ops/index";
import { ONNX_FORMS } from "../../src/index";
import { OpCaseRun } from "../support/op-case";

const IDS = Object.keys(OPS) as OpId[];
/** Larger cases are exported, but not computed: their operations are those of smaller ones. */
const MOST_FLOPS = 1e7;
/** Of the cases, those at every so many places are computed in float16 as well. */
const NARROW_SAMPLE = 6;

/** What ONNX Runtime makes otherwise of some cases. */
async function faultsOf(runs: readonly OpCaseRun[], type: "float" | "float16"): Promise<string[]> {
  const faults: string[] = [];
  for (const run of runs) faults.push(...(await run.faults(type)));
  return faults;
}

describe("the registry", () => {
  it.each(IDS)("%s has an ONNX form, and what it is made of is said", (op) => {
    expect(MAPPINGS[op]).toBeTypeOf("function");
    expect(ONNX_FORMS[op]).toBeDefined();
  });
});

describe.each(IDS)("%s", (op) => {
  const all = OP_CASES[op].correctness.map((opCase) => new OpCaseRun(op, opCase));
  const computed = all.filter((run) => run.isForCpu && run.flops <= MOST_FLOPS);

  it("becomes the operations that its form names", () => {
    const used = new Set(all.flatMap((run) => run.exported().nodes.map(({ opType }) => opType)));
    expect([...used].filter((each) => !MOVES.includes(each)).sort()).toEqual(ONNX_FORMS[op]!.nodes);
  });

  it("gives in ONNX Runtime what its definition gives", async () => {
    expect(computed.length).toBeGreaterThan(0);
    expect(await faultsOf(computed, "float")).toEqual([]);
  });

  it("stays near it in float16", async () => {
    const sample = computed.filter((_, i) => i % NARROW_SAMPLE === 0);
    expect(await faultsOf(sample, "float16")).toEqual([]);
  });
});
