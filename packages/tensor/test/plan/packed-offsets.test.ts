import { openDevice } from "@vd/kernels-native";
import { describe, expect, test } from "vitest";
import { compile } from "../../src/plan/plan";
import { rejection } from "../support/failure";

const sizes = { q: 12, k: 20 };

/** Attention over two packed sequences whose offsets change from run to run. */
const packed = (reference: boolean) =>
  compile(openDevice("cpu", { reference, threads: 1 }), (g) => {
    const tokens = (name: string, count: number) => g.input(name, [1, 1, count, 8]);
    const offsets = (name: string) => g.input(name, [3], "i32");
    const operands = { q: tokens("q", sizes.q), k: tokens("k", sizes.k), v: tokens("v", sizes.k) };
    const cu = { cuQ: offsets("cuQ"), cuK: offsets("cuK") };
    g.output("y", g.attention({ name: "packed", ...operands, ...cu, heads: 2, scale: 0.5 }));
  });

describe.each([
  ["the fast path", false],
  ["the definition", true],
])("offsets of packed sequences on %s", (_, reference) => {
  test("are checked before each run, against the dimension that they lead into", async () => {
    const plan = await packed(reference);
    const run = async (cuQ: number[], cuK: number[]) => {
      await plan.write("cuQ", Int32Array.from(cuQ));
      await plan.write("cuK", Int32Array.from(cuK));
      await plan.run();
    };
    await run([0, 5, 12], [0, 7, 20]);
    expect((await rejection(run([0, 5, 13], [0, 7, 20]))).message).toBe(
      "[packed] [attention] [cuQ] expected offsets that never fall and end at most at 12, got 13",
    );
    expect((await rejection(run([0, 5, 12], [0, 7, 21]))).message).toBe(
      "[packed] [attention] [cuK] expected offsets that never fall and end at most at 20, got 21",
    );
    expect(await rejection(run([0, 5, 4], [0, 7, 20]))).toMatchObject({ code: "attr", got: "4" });
    expect(await rejection(run([-1, 5, 12], [0, 7, 20]))).toMatchObject({ code: "attr", got: "-1" });
    await run([2, 5, 12], [0, 7, 19]);
    await plan.free();
  });
});
