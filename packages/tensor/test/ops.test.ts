import { type ConformanceCheck, conformanceChecks, cpuSuite } from "@vd/conformance";
import { describe, expect, test } from "vitest";

const byOp = new Map<string, ConformanceCheck[]>();
for (const check of conformanceChecks(cpuSuite())) byOp.set(check.op, [...(byOp.get(check.op) ?? []), check]);

describe.each([...byOp])("%s", (_, checks) => {
  test.each(checks.map((check) => [check.name, check] as const))("%s", async (_, check) => {
    expect((await check.run()).faults).toEqual([]);
  });
});
