import { openDevice } from "@vd/kernels-native";
import { expect, test } from "vitest";
import type { Graph } from "../../src/graph";
import { layoutGraph } from "../../src/plan/layout";
import { Plan } from "../../src/plan/plan";
import { SharedBlock } from "../../src/plan/shared-block";
import { rejection } from "../support/failure";

const device = openDevice("cpu", { threads: 1 });
const DIMS = [1, 1, 1, 4];

/** Adds `step` to the state `count` of a block, by way of the arena. */
const adding = (block: SharedBlock, step: number) =>
  layoutGraph((g: Graph) => {
    const count = block.tensor("count", DIMS, "f32");
    g.states.set("count", count);
    const raised = g.pointwise({ a: count, b: g.constant(new Float32Array(4).fill(step), DIMS) });
    g.pointwise({ a: raised, out: count });
  });

test("plans that share a block and working memory see each other's states", async () => {
  const block = new SharedBlock();
  const layouts = [adding(block, 1), adding(block, 10)];
  for (let round = 0; round < 2; round++) {
    await block.allocate(device);
    const arena = await device.allocate(Math.max(...layouts.map(({ memory }) => memory.arenaBytes)));
    const [one, ten] = await Promise.all(layouts.map((layout) => Plan.load(device, layout, { arena })));
    await one!.write("count", [1, 2, 3, 4]);
    for (const plan of [one!, ten!, ten!, one!]) await plan.run();
    expect([...(await ten!.read("count"))]).toEqual([23, 24, 25, 26]);
    for (const plan of [one!, ten!]) await plan.free();
    await arena.free();
    await block.free();
  }
});

test("a block that is allocated gives no further parts, one that is not none to load", async () => {
  const block = new SharedBlock();
  const layout = adding(block, 1);
  expect((await rejection(Plan.load(device, layout))).message).toBe("[count] expected allocated memory, got none");
  await block.allocate(device);
  expect(() => block.tensor("other", DIMS, "f32")).toThrow(
    "[other] expected a part that was asked for before, got more",
  );
  expect(block.bytes).toBe(256);
  await block.free();
});
