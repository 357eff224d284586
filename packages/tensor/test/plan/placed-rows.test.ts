import { openDevice } from "@vd/kernels-native";
import { expect, test } from "vitest";
import { SharedBlock } from "../../src/devices/shared-block";
import { layoutGraph } from "../../src/plan/layout";
import { placedRows } from "../../src/plan/placed-rows";
import { Plan } from "../../src/plan/plan";

const device = openDevice("cpu", { threads: 1 });

test("rows of a layout are placed once, as long as what they work with lies where it did", async () => {
  const layout = layoutGraph((g) => g.output("y", g.copy({ x: g.input("x", [1, 1, 1, 8]) })));
  const rows = await placedRows(layout, device);
  expect(await placedRows(layout, device)).toBe(rows);
});

test("they are placed anew when it lies elsewhere", async () => {
  const block = new SharedBlock();
  const map = block.tensor("map", [1, 1, 1, 3], "f32");
  const layout = layoutGraph((g) => g.output("y", g.pointwise({ a: map, aScale: 10 })));
  const found: Awaited<ReturnType<typeof placedRows>>[] = [];
  for (const values of [
    [1, 2, 3],
    [4, 5, 6],
  ]) {
    await block.allocate(device);
    block.buffer.writeSync(new Uint8Array(Float32Array.from(values).buffer));
    const plan = await Plan.load(device, layout);
    await plan.run();
    expect([...(await plan.read("y"))]).toEqual(values.map((value) => 10 * value));
    found.push(await placedRows(layout, device));
    await plan.free();
    await block.free();
  }
  expect(found[1]).not.toBe(found[0]);
});
