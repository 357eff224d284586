import { openDevice } from "@vd/kernels-native";
import { layoutGraph, Plan, packedBytes } from "@vd/tensor";
import { describe, expect, it } from "vitest";
import { touchedBytes } from "../src/index";

describe("memory that a device is read into", () => {
  it("takes its bytes in place, whatever their number, and is each result's own", async () => {
    const layout = layoutGraph((g) => {
      const x = g.input("x", [1, 1, 3, 7, 3]);
      g.output("floats", x);
      g.output("levels", g.framesOut({ x }));
    });
    const plan = await Plan.load(openDevice("cpu"), layout);
    await plan.write(
      "x",
      Array.from({ length: 63 }, (_, i) => i / 63),
    );
    for (const [name, { dims, dtype }] of layout.graph.outputs) {
      const bytes = packedBytes(dims, dtype);
      const into = touchedBytes(bytes);
      await plan.run();
      expect(await plan.readBytes(name, into)).toBe(into);
      expect(into).toEqual(await plan.readBytes(name));
      expect(touchedBytes(bytes).buffer).not.toBe(into.buffer);
    }
    await plan.free();
  });
});
