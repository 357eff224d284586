import { Device } from "@vd/kernels-native";
import { eager, type Graph, layoutGraph, Plan } from "@vd/tensor";
import { expect, it } from "vitest";
import { createProfiler } from "../src/index";
import { nodeAt, sumOf } from "./support/nodes";

const CEILINGS = { bytesPerUs: 1000, flopsPerUs: { f32: 2000 }, source: "given" };

function twoLinears(g: Graph): void {
  const weight = g.constant(new Float32Array(64 * 64).fill(0.5), [64, 64]);
  const x = g.input("x", [1, 1, 256, 64]);
  const y = g.linear({ name: "blocks.0.first", x, weight });
  g.output("y", g.linear({ name: "blocks.0.second", x: y, weight }));
}

async function profiled(numRuns: number) {
  const profiler = createProfiler({ ceilings: CEILINGS });
  const layout = layoutGraph(twoLinears);
  await profiler.scope("work", async () => {
    const plan = await Plan.load(Device.cpu({ threads: 1 }), layout, { name: "mine", observer: profiler });
    plan.writeSync("x", new Float32Array(256 * 64).fill(1));
    for (let i = 0; i < numRuns; i++) await plan.run();
    expect(plan.readSync("y")[0]).toBe(1024);
    plan.freeSync();
  });
  return { report: profiler.report(), layout };
}

it("a plan's load, writes, runs, readbacks and end are scopes, its rows leaves of the blocks in their names", async () => {
  const { report, layout } = await profiled(3);
  expect(nodeAt(report, "work").children.map(({ name, count }) => [name, count])).toEqual([
    ["load", 1],
    ["write", 1],
    ["run", 3],
    ["readback", 1],
    ["free", 1],
  ]);
  const block = nodeAt(report, "work", "run", "blocks.0");
  expect(block).toMatchObject({ kind: "block", count: 3, selfUs: 0 });
  expect(block.children.map(({ name, kind, op, count }) => ({ name, kind, op, count }))).toEqual([
    { name: "first", kind: "row", op: "linear", count: 3 },
    { name: "second", kind: "row", op: "linear", count: 3 },
  ]);
  expect(block.flops).toBe(3 * layout.cost.flops);
  expect(block.bytes).toBe(3 * layout.cost.bytes);
  expect(sumOf(report, (node) => node.sharePercent) + report.outsidePercent).toBeCloseTo(100, 6);
});

it("rates follow from bytes, FLOP and time, and the roofline from the ceilings", async () => {
  const { report } = await profiled(2);
  const [row] = report.rows;
  expect(report.rows.map(({ plan, op, count, shape }) => [plan, op, count, shape])).toEqual([
    ["mine", "linear", 2, "f32[1,1,256,64]"],
    ["mine", "linear", 2, "f32[1,1,256,64]"],
  ]);
  expect(row!.flops).toBe(2 * 2 * 256 * 64 * 64);
  expect(row!.bytes).toBe(2 * 4 * (2 * 256 * 64 + 64 * 64));
  expect(row!.teraflopPerS).toBeCloseTo(row!.flops / row!.totalUs / 1e6, 9);
  expect(row!.gigabytesPerS).toBeCloseTo(row!.bytes / row!.totalUs / 1e3, 9);
  const idealUs = 2 * Math.max((2 * 256 * 64 * 64) / 2000, (4 * (2 * 256 * 64 + 64 * 64)) / 1000);
  expect(row!.rooflinePercent).toBeCloseTo((100 * idealUs) / row!.totalUs, 9);
  expect(report.ops).toEqual([expect.objectContaining({ op: "linear", count: 4 })]);
  expect(report.ops[0]!.totalUs).toBeCloseTo(report.rows[0]!.totalUs + report.rows[1]!.totalUs, 9);
});

it("memory is what was planned and packed while the plan was loaded, and nothing after it", async () => {
  const { report, layout } = await profiled(1);
  const [loaded, freed] = report.memory;
  expect(loaded!.bytes).toBeGreaterThanOrEqual(layout.memory.peakBytes);
  expect(freed!.bytes).toBe(0);
  expect(report.memory).toHaveLength(2);
  expect(report.peakBytes).toBe(loaded!.bytes);
  expect(nodeAt(report, "work", "run").peakBytes).toBe(loaded!.bytes);
  expect(nodeAt(report, "work", "write").peakBytes).toBe(loaded!.bytes);
});

it("ceilings are measured on the device that was used", async () => {
  const profiler = createProfiler();
  const plan = await Plan.load(Device.cpu({ threads: 1 }), layoutGraph(twoLinears), { observer: profiler });
  await plan.run();
  plan.freeSync();
  expect(profiler.report().ceilings).toBeNull();
  expect(profiler.report().rows[0]!.rooflinePercent).toBeNull();
  await profiler.measureCeilings();
  const { ceilings, rows } = profiler.report();
  expect(ceilings!.gigabytesPerS).toBeGreaterThan(0.1);
  expect(ceilings!.teraflopPerS.f32).toBeGreaterThan(1e-4);
  expect(rows[0]!.rooflinePercent).toBeGreaterThan(0);
});

it("eager ops are scopes of their names, with the plan of one row inside; eager tensors are written and read", async () => {
  const profiler = createProfiler({ ceilings: CEILINGS });
  await profiler.scope("work", async () => {
    const e = eager(Device.cpu({ threads: 1 }), { observer: profiler });
    const x = e.tensor(new Float32Array(256 * 64).fill(1), [1, 1, 256, 64]);
    const weight = e.tensor(new Float32Array(64 * 64).fill(0.5), [64, 64], "f32", true);
    for (let i = 0; i < 2; i++) expect(e.readSync(await e.ops.linear({ x, weight }))[0]).toBe(32);
    await expect(e.ops.linear({ x, weight: x })).rejects.toMatchObject({ code: "shape" });
  });
  const report = profiler.report();
  expect(nodeAt(report, "work").children.map(({ name, count, numFailed }) => [name, count, numFailed])).toEqual([
    ["write", 2, 0],
    ["linear", 3, 1],
    ["readback", 2, 0],
  ]);
  expect(nodeAt(report, "work", "linear").children.map(({ name, count }) => [name, count])).toEqual([
    ["load", 2],
    ["run", 2],
    ["free", 2],
  ]);
  expect(report.ops).toEqual([expect.objectContaining({ op: "linear", count: 2, flops: 2 * 2 * 256 * 64 * 64 })]);
  expect(report.rows[0]).toMatchObject({ plan: "linear", op: "linear", shape: "f32[1,1,256,64]" });
});

it("a cancelled run is a scope that failed, without rows", async () => {
  const profiler = createProfiler();
  const plan = await Plan.load(Device.cpu({ threads: 1 }), layoutGraph(twoLinears), { observer: profiler });
  await expect(plan.run({ signal: AbortSignal.abort() })).rejects.toMatchObject({ code: "cancelled" });
  plan.freeSync();
  expect(nodeAt(profiler.report(), "run")).toMatchObject({ numFailed: 1, children: [] });
});
