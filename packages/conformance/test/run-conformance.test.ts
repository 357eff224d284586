import { type OpId, openDevice } from "@vd/kernels-native";
import { describe, expect, test } from "vitest";
import { cpuSuite, runConformance } from "../src/index";

const device = openDevice("cpu", { threads: 1 });

describe("a run", () => {
  test("tells the reporter of every check and, after its last, of every op", async () => {
    const heard: string[] = [];
    const report = await runConformance(device, {
      ops: ["copy", "guide"],
      reporter: {
        onCheck: ({ op }, { faults }) => void heard.push(`${op} ${faults.length}`),
        onOp: (op, { passed, failed }) => void heard.push(`${op}: ${passed}, ${failed}`),
      },
    });
    const ofOp = (op: string) => heard.filter((line) => line.startsWith(`${op} `)).length;
    expect(report).toMatchObject({ failed: 0, failures: [], passed: ofOp("copy") + ofOp("guide") });
    expect(new Set(heard)).toEqual(
      new Set(["copy 0", `copy: ${ofOp("copy")}, 0`, "guide 0", `guide: ${ofOp("guide")}, 0`]),
    );
  });

  test("takes cases of one's own and leaves out what the filter does", async () => {
    const names: string[] = [];
    const cases = { copy: ["a", "b"].map((name) => ({ name, inputs: { x: [1, 1, 2, 3] } })) };
    await runConformance(device, {
      ops: ["copy"],
      kinds: ["results"],
      cases,
      filter: (_, { name }) => name !== "a",
      reporter: { onCheck: ({ name }) => void names.push(name) },
    });
    expect(names).toEqual(["copy: b"]);
  });

  test("leaves out cases of more operations than it is told", async () => {
    const names: string[] = [];
    const linear = [4, 5].map((rows) => ({
      name: `${rows} rows`,
      inputs: { x: [1, 1, 2, 8] as const, weight: [rows, 8] as const },
    }));
    await runConformance(device, {
      ops: ["linear"],
      kinds: ["results"],
      cases: { linear },
      mostFlops: 2 * 2 * 8 * 4,
      reporter: { onCheck: ({ name }) => void names.push(name) },
    });
    expect(names).toEqual(["linear: 4 rows"]);
  });

  test("counts as failed what its device cannot do, and goes on", async () => {
    const definitions = { name: "definitions", device: openDevice("cpu", { reference: true, threads: 1 }) };
    const { passed, failures } = await runConformance(
      { devices: [definitions], fastOps: ["layer_norm"] },
      { ops: ["layer_norm", "copy"], kinds: ["fast paths", "contract"] },
    );
    expect(passed).toBe(2);
    expect(failures.map(({ check, faults }) => [check.name, faults])).toEqual([
      [
        "layer_norm: fast paths serve most cases",
        ["definitions: expected a fast path for more than 0.8 of the cases, got 0"],
      ],
    ]);
  });

  test("finds other bits", async () => {
    // Plain loops add a row from left to right, the fast path in several sums beside each other.
    const longRow = {
      name: "a long row",
      inputs: { x: [1, 1, 1, 5000], weight: [5000], bias: [5000] },
      attrs: { eps: 1e-5 },
    };
    const { devices, baseline } = cpuSuite();
    const other = { ...devices[0]!, sameBits: [baseline!.device] };
    const { failures } = await runConformance(
      { devices: [other] },
      { ops: ["layer_norm"], kinds: ["results"], cases: { layer_norm: [longRow] } },
    );
    expect(failures.map(({ faults }) => faults)).toEqual([["plain: two runs give different bits"]]);
  });

  test("of a case that its op does not allow throws what the op's checks say", async () => {
    const cases = { layer_norm: [{ name: "no eps", inputs: { x: [1, 1, 1, 8], weight: [8], bias: [8] } }] };
    await expect(runConformance(device, { ops: ["layer_norm"], kinds: ["results"], cases })).rejects.toThrow(
      /^\[no eps\] \[layer_norm\] \[eps\] expected a number/,
    );
  });

  test("of an op that is none says the nearest names", async () => {
    await expect(runConformance(device, { ops: ["layernorm" as OpId] })).rejects.toThrow(
      /^\[ops\] expected ids of ops, got layernorm\. Nearest: layer_norm/,
    );
  });
});
