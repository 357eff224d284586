import { allocateBuffer, type DeviceBuffer, openDevice } from "@vd/kernels-native";
import { expect, test } from "vitest";
import { elementwise, layoutGraph, Plan } from "../../src/index";
import { Placement } from "../../src/plan/placement";
import { Places } from "../../src/plan/places";
import { SpareArenas, spareArenas } from "../../src/plan/spare-arenas";

const OPTIONS = { leastBytes: 10, mostBytes: 100, keepMs: 20 };

function fakeArenas(sizes: readonly number[]) {
  const freed: number[] = [];
  const arenas = sizes.map((bytes) => ({ bytes, free: async () => void freed.push(bytes) }) as unknown as DeviceBuffer);
  return { arenas, freed };
}

test("an arena goes to whoever wants one of its size, once", async () => {
  const { arenas, freed } = fakeArenas([40, 50]);
  const spare = new SpareArenas(OPTIONS);
  for (const arena of arenas) await spare.give(arena);
  expect(spare.take(45)).toBeUndefined();
  expect(spare.take(50)).toBe(arenas[1]);
  expect(spare.take(50)).toBeUndefined();
  expect(spare.take(40)).toBe(arenas[0]);
  expect(freed).toEqual([]);
});

test("small ones are not kept, and the oldest go where all take too much", async () => {
  const { arenas, freed } = fakeArenas([9, 101, 40, 50, 30]);
  const spare = new SpareArenas(OPTIONS);
  for (const arena of arenas) await spare.give(arena);
  expect(freed).toEqual([9, 101, 40]);
  expect(spare.take(30)).toBe(arenas[4]);
});

test("what nobody takes for a moment is freed", async () => {
  const { arenas, freed } = fakeArenas([40, 50]);
  const spare = new SpareArenas(OPTIONS);
  for (const arena of arenas) await spare.give(arena);
  await expect.poll(() => freed).toEqual([40, 50]);
  expect(spare.take(40)).toBeUndefined();
});

/** A layout with an arena of 8 MiB; each run adds `by` twice. */
const layoutOf = (by: number) =>
  layoutGraph((g) => {
    const x = g.input("x", [1, 1, 1024, 1024]);
    const more = () => g.constant(Float32Array.of(by), [1, 1, 1, 1]);
    g.output(
      "y",
      elementwise(g, (e) =>
        e.add(
          elementwise(g, (f) => f.add(x, more())),
          more(),
        ),
      ),
    );
  });

test("plans on the CPU after each other work in the same memory, and those beside each other in their own", async () => {
  const device = openDevice("cpu", { threads: 1 });
  const sizes: number[] = [];
  const { take } = spareArenas;
  spareArenas.take = (bytes) => {
    const found = take.call(spareArenas, bytes);
    sizes.push(found ? bytes : 0);
    return found;
  };
  try {
    const ones = new Float32Array(1024 * 1024).fill(1);
    const result = async (plan: Plan) => (await plan.read("y"))[7]!;
    const first = await Plan.load(device, layoutOf(1));
    await first.write("x", ones);
    await first.run();
    expect(await result(first)).toBe(3);
    await first.free();
    const [second, third] = [await Plan.load(device, layoutOf(10)), await Plan.load(device, layoutOf(100))];
    for (const plan of [second, third]) await plan.write("x", ones);
    await Promise.all([second.run(), third.run()]);
    expect([await result(second), await result(third)]).toEqual([21, 201]);
    const { arenaBytes } = second.memory;
    expect(arenaBytes).toBeGreaterThanOrEqual(2 ** 22);
    expect(sizes).toEqual([0, arenaBytes, 0]);
    for (const plan of [second, third]) await plan.free();
  } finally {
    spareArenas.take = take;
  }
});

test("memory that somebody counts is allocated and freed as they say", async () => {
  const device = Object.create(openDevice("cpu", { threads: 1 }), { allocate: { value: allocateCounted } });
  let allocated = 0;
  async function allocateCounted(bytes: number) {
    allocated++;
    return allocateBuffer(bytes);
  }
  const { arenaBytes } = layoutOf(1).memory;
  while (spareArenas.take(arenaBytes));
  for (let i = 1; i <= 2; i++) {
    const plan = await Plan.load(device, layoutOf(1));
    await plan.free();
    expect(spareArenas.take(arenaBytes)).toBeUndefined();
  }
  expect(allocated).toBeGreaterThanOrEqual(4);
});

test.each([true, false])("the arena of a plan whose runs have ended can be another one's, %s", async (isIdle) => {
  const layout = layoutOf(1);
  const places = new Places(layout, false);
  for (const { inputs, outputs } of layout.graph.rows)
    for (const tensor of [...inputs, ...outputs]) if (tensor) places.placeOf(tensor);
  const placement = new Placement(places, openDevice("cpu", { threads: 1 }));
  const { arenaBytes } = layout.memory;
  while (spareArenas.take(arenaBytes));
  await placement.allocate();
  await placement.free({ isIdle });
  expect(spareArenas.take(arenaBytes) !== undefined).toBe(isIdle);
});
