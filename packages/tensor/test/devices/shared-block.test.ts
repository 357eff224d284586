import { openDevice } from "@vd/kernels-native";
import { describe, expect, test } from "vitest";
import { SharedBlock, tensorCopy } from "../../src/devices/shared-block";
import { layoutGraph } from "../../src/plan/layout";
import { Plan } from "../../src/plan/plan";
import { clipRange, frameRange } from "../../src/tensor";
import { failure, rejection } from "../support/failure";

const device = openDevice("cpu", { threads: 1 });

describe("a shared block", () => {
  test("holds what one plan leaves for another, and is allocated again after it was freed", async () => {
    const block = new SharedBlock();
    const map = block.tensor("map", [1, 2, 1, 2], "f32");
    const other = block.tensor("other", [1, 1, 1, 3], "f32");
    const write = layoutGraph((g) => void g.pointwise({ a: g.input("x", map.dims), aScale: 2, out: map }));
    const read = layoutGraph((g) => {
      g.output("y", g.pointwise({ a: map, aScale: 10 }));
      g.output("z", g.pointwise({ a: other, aScale: 1 }));
    });
    for (let round = 0; round < 2; round++) {
      await block.allocate(device);
      const plans = [await Plan.load(device, write), await Plan.load(device, read)];
      await plans[0]!.write("x", [1, 2, 3, 4]);
      for (const plan of plans) await plan.run();
      expect([...(await plans[1]!.read("y"))]).toEqual([20, 40, 60, 80]);
      expect([...(await plans[1]!.read("z"))]).toEqual([0, 0, 0]);
      for (const plan of plans) await plan.free();
      await block.free();
    }
    expect(() => block.buffer).toThrow(/allocated memory/);
  });

  test("has one place for a name, as large as its largest tensor, and grows only before it is allocated", async () => {
    const block = new SharedBlock();
    const small = block.tensor("map", [1, 2], "f32");
    expect(block.tensor("map", [1, 2], "f32")).toBe(small);
    block.tensor("map", [1, 100], "f32");
    expect(block.bytes).toBe(512);
    const behind = block.tensor("behind", [1, 1], "f32");
    await block.allocate(device);
    expect([small.storage.place!.byteOffset, behind.storage.place!.byteOffset]).toEqual([0, 512]);
    expect(failure(() => block.tensor("map", [1, 101], "f32")).code).toBe("internal");
    expect(block.tensor("map", [1, 3], "f32").dims).toEqual([1, 3]);
    await block.free();
  });

  test("lies in a buffer of the caller's, which it does not free", async () => {
    const blocks = [new SharedBlock(), new SharedBlock()];
    const [first, second] = blocks.map((block, i) => block.tensor("m", [1, 2 + 100 * i], "f32"));
    const buffer = await device.allocate(512);
    for (const block of blocks) block.lieIn(buffer);
    expect([first!.storage.place!.buffer, second!.storage.place!.buffer]).toEqual([buffer, buffer]);
    for (const block of blocks) await block.free();
    expect(buffer.bytes).toBe(512);
    const small = await device.allocate(256);
    expect(failure(() => blocks[1]!.lieIn(small)).code).toBe("layout");
    for (const each of [buffer, small]) await each.free();
  });

  test("gives frames to another block, which may lie on another device", async () => {
    const [from, to] = [new SharedBlock(), new SharedBlock()];
    const [source, target] = [from.tensor("m", [1, 3, 1, 2], "f32"), to.tensor("m", [1, 2, 1, 2], "f32")];
    const other = openDevice("cpu", { threads: 1 });
    await Promise.all([from.allocate(device), to.allocate(other)]);
    from.buffer.writeSync(Float32Array.of(1, 2, 3, 4, 5, 6));
    const copies = [tensorCopy(frameRange(target, 1, 2), frameRange(source, 2, 3))];
    const twice = layoutGraph((g) => g.output("y", g.pointwise({ a: target, aScale: 2 })));
    const plan = await Plan.load(other, twice);
    await plan.run({ copies });
    expect([...(await plan.read("y"))]).toEqual([0, 0, 10, 12]);
    expect([...to.buffer.readSync(new Float32Array(4))]).toEqual([0, 0, 5, 6]);
    expect(failure(() => tensorCopy(target, source)).code).toBe("shape");
    const wrong = { ...copies[0]!, bytes: 1 << 20 };
    expect((await rejection(plan.run({ copies: [wrong] }))).code).toBe("layout");
    await plan.free();
    await Promise.all([from.free(), to.free()]);
  });
});

test("plans that never run at once can share their arena, which must be large enough", async () => {
  const chain = layoutGraph((g) => {
    const x = g.input("x", [1, 1, 1, 64]);
    g.output("y", g.pointwise({ a: g.pointwise({ a: x, aScale: 2 }), aScale: 3 }));
  });
  const arena = await device.allocate(chain.memory.arenaBytes);
  const plans = [await Plan.load(device, chain, { arena }), await Plan.load(device, chain, { arena })];
  for (const [i, plan] of plans.entries()) {
    await plan.write("x", new Float32Array(64).fill(i + 1));
    await plan.run();
    expect((await plan.read("y"))[63]).toBe(6 * (i + 1));
  }
  for (const plan of plans) await plan.free();
  expect([...arena.readSync(new Float32Array(1))].length).toBe(1); // Still the caller's.
  const small = await device.allocate(16);
  expect((await rejection(Plan.load(device, chain, { arena: small }))).code).toBe("layout");
});

test("a range of clips is a view of the batch", () => {
  const batch = new SharedBlock().tensor("b", [3, 2, 4, 5], "f16");
  const middle = clipRange(batch, 1, 2);
  expect([middle.dims, middle.byteOffset]).toEqual([[1, 2, 4, 5], 80]);
  expect(failure(() => clipRange(batch, 2, 4)).code).toBe("shape");
});
