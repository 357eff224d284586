import { OPS, type OpId } from "@vd/kernels-native";
import { OP_CASES } from "@vd/kernels-native/cases";
import { type OpCase, type OpDefinition, operandOf } from "@vd/kernels-native/contract";
import { describe, expect, it } from "vitest";
import { ONNX_FORMS } from "../../src/index";
import { OpCaseRun } from "../support/op-case";

const IDS = Object.keys(OPS) as OpId[];

/** Cases that the definition on the CPU takes: others have activations in 16 bits. */
function onCpu(op: OpId): OpCase[] {
  const { inputs }: OpDefinition = OPS[op];
  const isDeclined = (name: string, dtype: string) =>
    (dtype === "f16" || dtype === "bf16") && !inputs[name]!.constant && !inputs[name]!.halfOnCpu;
  return OP_CASES[op].correctness.filter(({ inputs: given }) =>
    Object.entries(given).every(([name, each]) => !each || !isDeclined(name, operandOf(each).dtype ?? "f32")),
  );
}

it("every op has an ONNX form", () => {
  expect(IDS.filter((op) => !ONNX_FORMS[op])).toEqual([]);
});

describe("an op's cases in ONNX Runtime", () => {
  it.each(IDS)("%s gives what its definition gives", async (op) => {
    const faults: string[] = [];
    for (const opCase of onCpu(op)) {
      try { faults.push(...(await new OpCaseRun(op, opCase).faults())); } catch (e) { faults.push(`${opCase.name}: ${(e as Error).message}`); }
    }
    expect(faults).toEqual([]);
  });
});
