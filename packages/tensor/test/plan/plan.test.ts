import { openDevice } from "@vd/kernels-native";
import { afterAll, describe, expect, test } from "vitest";
import type { Graph } from "../../src/graph";
import { runInSlices } from "../../src/pausable";
import { layoutGraph } from "../../src/plan/layout";
import { compile, Plan } from "../../src/plan/plan";
import { pixelsToPlanes } from "../../src/planes";
import { channelRange } from "../../src/tensor";
import { failure, rejection } from "../support/failure";

const device = openDevice("cpu", { threads: 2 });
const plans: Plan[] = [];
afterAll(() => {
  for (const plan of plans) plan.freeSync();
});

async function make(build: (g: Graph) => void, taps?: string[]): Promise<Plan> {
  const plan = await compile(device, build, taps ? { taps: new Set(taps) } : {});
  plans.push(plan);
  return plan;
}

/** Adds 1 to each of `width` numbers of the state "count", `times` times. */
const counting =
  (times: number, width = 1) =>
  (g: Graph) => {
    const dims = [1, 1, 1, width];
    const [count, step] = [g.state("count", dims), g.constant(new Float32Array(width).fill(1), dims)];
    for (let i = 0; i < times; i++) g.pointwise({ name: `count${i}`, a: count, b: step, out: count });
  };

describe("a plan", () => {
  test("computes what was recorded, as often as asked", async () => {
    const plan = await make((g) => {
      const x = g.input("x", [1, 1, 2, 3]);
      const h = g.pointwise({ a: x, aScale: 2 });
      g.output("y", g.pointwise({ a: h, b: x, c: x }));
      g.output("h", h);
    });
    for (const x of [
      [1, 2, 3, 4, 5, 6],
      [-1, 0, 0.5, 7, 8, 9],
    ]) {
      plan.writeSync("x", x);
      await plan.run();
      expect([...plan.readSync("h")]).toEqual(x.map((v) => 2 * v));
      expect([...plan.readSync("y")]).toEqual(x.map((v) => 2 * v + v * v));
    }
  });

  test("takes over another plan's output, at once or off the event loop, and names what does not fit", async () => {
    const source = await make((g) => g.output("y", g.pointwise({ a: g.input("x", [1, 1, 1, 3]), aScale: 2 })));
    const [same, wider] = [await make(counting(1, 3)), await make(counting(1, 4))];
    source.writeSync("x", [1, 2, 3]);
    await source.run();
    await same.copyFrom("count", source, "y");
    expect([...same.readSync("count")]).toEqual([2, 4, 6]);
    source.writeSync("x", [4, 5, 6]);
    await source.run();
    same.copyFromSync("count", source, "y");
    expect([...same.readSync("count")]).toEqual([8, 10, 12]);
    const refused = { code: "shape", where: "plan] [count", expected: "f32[1,1,1,4]", got: "f32[1,1,1,3]" };
    expect(await rejection(wider.copyFrom("count", source, "y"))).toMatchObject(refused);
    expect(failure(() => wider.copyFromSync("count", source, "y"))).toMatchObject(refused);
  });

  test("takes parts of tensors from buffers and gives them to such, within both", async () => {
    const plan = await make((g) => g.output("y", g.pointwise({ a: g.input("x", [1, 1, 1, 4]), aScale: 2 })));
    const buffer = await device.allocate(16);
    buffer.writeSync(Float32Array.of(1, 2, 3, 4));
    plan.writeSync("x", [9, 9, 9, 9]);
    await plan.copyIn("x", buffer, { from: 4, to: 8, bytes: 8 });
    await plan.run();
    expect([...plan.readSync("y")]).toEqual([18, 18, 4, 6]);
    await plan.copyOut("y", buffer, { from: 8, to: 0, bytes: 4 });
    expect([...buffer.readSync(new Float32Array(4))]).toEqual([4, 2, 3, 4]);
    for (const part of [
      { from: 0, to: 12, bytes: 8 },
      { from: 0, to: -4, bytes: 4 },
      { from: 12, to: 0, bytes: 8 },
    ])
      expect(await rejection(plan.copyIn("x", buffer, part))).toMatchObject({ code: "layout" });
    expect(await rejection(plan.copyOut("y", buffer, { from: 12, to: 0, bytes: 8 }))).toMatchObject({
      ...{ code: "layout", expected: "bytes of the 16 of f32[1,1,1,4]", got: "12 to 20" },
    });
    await buffer.free();
  });

  test("looks through what is written and reads into arrays that are there", async () => {
    const plan = await make((g) => g.output("y", g.pointwise({ a: g.input("x", [1, 1, 1, 3]), aScale: 2 })));
    expect(await plan.writeChecked("x", Float32Array.of(1, -3, 2))).toBe(3);
    await plan.run();
    const into = new Float32Array(5);
    const { values, firstNotFinite } = await plan.readChecked("y", into.subarray(1, 4));
    expect([...into]).toEqual([0, 2, -6, 4, 0]);
    expect([values.buffer, firstNotFinite]).toEqual([into.buffer, undefined]);
    expect(await rejection(plan.readChecked("y", into))).toMatchObject({ code: "shape", got: "5" });
    expect(await plan.writeChecked("x", Float32Array.of(1, Number.NaN, 2))).toBeNaN();
    await plan.run();
    expect((await plan.readChecked("y", into.subarray(2))).firstNotFinite).toBe(1);
    expect(await rejection(plan.writeChecked("x", [1, 2, 3] as never))).toMatchObject({ code: "dtype" });
  });

  test("reads pixels as planes, and refuses types that are no floats of 16 or 32 bits", async () => {
    const dims = [2, 2, 3, 4];
    const plan = await make((g) => {
      g.output("y", g.pointwise({ a: g.input("x", dims), aScale: 2 }));
      g.output("codes", g.input("whole", dims, "i32"));
    });
    const pixels = Float32Array.from({ length: 48 }, (_, i) => i);
    await plan.write("x", pixels);
    await plan.run();
    const into = new Float32Array(48);
    const { values, firstNotFinite } = await plan.readPlanes("y", into);
    expect(values).toBe(into);
    expect(firstNotFinite).toBeUndefined();
    const doubled = pixels.map((value) => 2 * value);
    expect(into).toEqual(pixelsToPlanes(doubled, [2, 4, 2, 3], new Float32Array(48)));
    expect(await rejection(plan.readPlanes("y", new Float32Array(47)))).toMatchObject({ code: "shape", got: "47" });
    expect(await rejection(plan.readPlanes("codes"))).toMatchObject({ code: "dtype" });
  });

  test("keeps its state from run to run, zero at first, and lets it be set", async () => {
    const plan = await make(counting(3));
    expect([...plan.readSync("count")]).toEqual([0]);
    await plan.run();
    await plan.run();
    expect([...plan.readSync("count")]).toEqual([6]);
    plan.writeSync("count", [100]);
    await plan.run();
    expect([...plan.readSync("count")]).toEqual([103]);
  });

  test("keeps taps of intermediate tensors readable, whatever comes after", async () => {
    const build = (g: Graph) => {
      let h = g.input("x", [1, 1, 1, 4]);
      for (let i = 0; i < 6; i++) {
        h = g.pointwise({ name: `h${i}`, a: h, aScale: 2 });
        g.tap(`h${i}`, h);
      }
      g.output("y", h);
    };
    const plan = await make(build, ["h1", "h4"]);
    plan.writeSync("x", [1, 2, 3, 4]);
    await plan.run();
    expect([...plan.readSync("h1")]).toEqual([4, 8, 12, 16]);
    expect([...plan.readSync("h4")]).toEqual([32, 64, 96, 128]);
    expect(failure(() => plan.readSync("h2")).message).toContain("expected an output or state: h1, h4, y, got h2");
  });

  test("reads outputs that are views packed", async () => {
    const plan = await make((g) => {
      const h = g.pointwise({ a: g.input("x", [1, 1, 2, 4]) });
      g.output("right", channelRange(h, 2, 4));
    });
    plan.writeSync("x", [1, 2, 3, 4, 5, 6, 7, 8]);
    await plan.run();
    expect([...plan.readSync("right")]).toEqual([3, 4, 7, 8]);
  });

  test("takes 16-bit inputs as numbers or as raw bits", () => {
    const { graph } = layoutGraph((g) => g.output("x", g.input("x", [2], "f16")));
    return Plan.load(device, { ...layoutGraph(() => {}), graph }).then((plan) => {
      plans.push(plan);
      plan.writeSync("x", [1, -2]);
      expect([...plan.readSync("x")]).toEqual([1, -2]);
      plan.writeSync("x", Uint16Array.of(0x4200, 0x3800));
      expect([...plan.readSync("x")]).toEqual([3, 0.5]);
    });
  });

  test("takes inputs off the event loop as well, whole and in their own type", async () => {
    const size = 300_000;
    const data = Float32Array.from({ length: size }, (_, i) => (i % 2_000) - 1_000);
    const plan = await make((g) => {
      for (const dtype of ["f32", "f16"] as const) g.output(dtype, g.input(`${dtype} in`, [1, 1, 1, size], dtype));
    });
    for (const dtype of ["f32", "f16"]) {
      for (const sent of [data, Array.from(data, (value) => -value)]) {
        await plan.write(`${dtype} in`, sent);
        await plan.run();
        const [got, wanted] = [plan.readSync(dtype), Float32Array.from(sent)];
        expect(Buffer.compare(new Uint8Array(got.buffer), new Uint8Array(wanted.buffer))).toBe(0);
      }
    }
    const error = await rejection(plan.write("f32 in", [1]));
    expect(error).toMatchObject({ code: "shape", got: "1" });
  });

  test("is recorded at once or in slices with the same result", async () => {
    function* build(g: Graph) {
      let x = g.input("x", [1, 1, 1, 8]);
      for (let i = 0; i < 100; i++) {
        x = g.pointwise({ a: x, aScale: i });
        yield;
      }
      g.output("y", x);
    }
    const [atOnce, inSlices] = [layoutGraph(build), await runInSlices(layoutGraph.inPieces(build), { sliceUs: 0 })];
    expect(inSlices.memory).toEqual(atOnce.memory);
    expect(inSlices.cost).toEqual(atOnce.cost);
    expect([...inSlices.byteOffsets.values()]).toEqual([...atOnce.byteOffsets.values()]);
    const signal = AbortSignal.abort();
    expect(await rejection(runInSlices(layoutGraph.inPieces(build), { signal }))).toMatchObject({ code: "cancelled" });
  });

  test("may be empty", async () => {
    const plan = await make((g) => g.output("y", g.input("y", [1, 2])));
    plan.writeSync("y", [3, 4]);
    expect((await plan.run()).elapsedUs).toBeGreaterThanOrEqual(0);
    expect([...plan.readSync("y")]).toEqual([3, 4]);
  });

  test("measures every row if asked", async () => {
    const plan = await make(counting(5));
    expect((await plan.run()).rowUs).toHaveLength(0);
    const { elapsedUs, rowUs } = await plan.run({ timing: true });
    expect(rowUs).toHaveLength(5);
    expect(rowUs.every((us) => us >= 0)).toBe(true);
    expect(elapsedUs).toBeGreaterThanOrEqual(rowUs.reduce((sum, us) => sum + us, 0));
  });
});

describe("before anything is allocated", () => {
  const layout = layoutGraph((g) => {
    const x = g.input("x", [1, 1, 8, 16]);
    const weight = g.constant(new Float32Array(16 * 32), [32, 16]);
    const h = g.linear({ x, weight });
    g.output(
      "y",
      g.linear({ x: h, weight: g.constant(new Float32Array(32 * 16), [16, 32]), out: g.state("s", [1, 1, 8, 16]) }),
    );
    g.output("z", g.linear({ x, weight }));
  });

  test("memory is known by kind", () => {
    expect(layout.memory).toEqual({
      weightBytes: 2 * 16 * 32 * 4,
      transformedBytes: 0,
      stateBytes: 8 * 16 * 4,
      ioBytes: 8 * 16 * 4,
      // The second result takes the place of the first.
      arenaBytes: 8 * 32 * 4,
      peakBytes: 2 * 8 * 16 * 4 + 8 * 32 * 4,
    });
  });

  test("cost is known", () => {
    const [read, written] = [3 * (8 * 16 + 16 * 32) + 8 * 16, 8 * 32 + 8 * 16 + 8 * 32];
    expect(layout.cost).toEqual({
      numRows: 3,
      flops: 3 * 2 * 8 * 16 * 32,
      bytes: 4 * (read + written),
    });
  });
});

describe("errors", () => {
  test("of names and lengths say what there is", async () => {
    const plan = await make((g) => {
      g.output("y", g.pointwise({ a: g.input("x", [1, 1, 2, 3]), out: g.state("s", [1, 1, 2, 3]) }));
    });
    expect(failure(() => plan.writeSync("z", [])).message).toBe("[plan] expected an input or state: x, got z");
    expect(failure(() => plan.readSync("x")).message).toBe("[plan] expected an output or state: y, got x");
    expect(failure(() => plan.writeSync("x", [1])).message).toBe("[x] expected 6 numbers for f32[1,1,2,3], got 1");
    expect(failure(() => plan.writeSync("s", new Float32Array(7)))).toMatchObject({ code: "shape", where: "s" });
  });

  test("of the device name row and operand", async () => {
    const error = await rejection(
      compile(device, (g) => void g.pointwise({ name: "narrow", a: g.input("x", [1, 1, 2, 4], "f16") })),
    );
    expect(error).toMatchObject({ code: "unsupported", where: "narrow] [a" });
  });

  test("what is staged is read by the run that begins next, not by the one under way", async () => {
    const plan = await make((g) => {
      const x = g.input("x", [1, 1, 1, 4]);
      let y = x;
      for (let i = 0; i < 300; i++) y = g.pointwise({ a: y, act: "silu", aScale: 1 });
      g.output("y", g.pointwise({ a: y, b: x, aScale: 0 }));
    });
    const read = async () => [...(await plan.read("y"))];
    await plan.write("x", [1, 2, 3, 4]);
    const running = plan.run();
    await plan.stage("x", [5, 6, 7, 8]);
    await running;
    expect(await read()).toEqual([1, 2, 3, 4]);
    await plan.run();
    expect(await read()).toEqual([5, 6, 7, 8]);
    await plan.run();
    expect(await read()).toEqual([5, 6, 7, 8]);
    // Of what is staged twice the latter counts; it may be given to another run than the next.
    await plan.stage("x", [1, 1, 1, 1]);
    await plan.stage("x", [2, 2, 2, 2]);
    const copies = plan.takeStaged();
    await plan.stage("x", [3, 3, 3, 3]);
    await plan.run({ copies, leavesStaged: true });
    expect(await read()).toEqual([2, 2, 2, 2]);
    await plan.run();
    expect(await read()).toEqual([3, 3, 3, 3]);
    expect(plan.queuesRuns).toBe(false);
    expect((await rejection(plan.stage("x", [1]))).code).toBe("shape");
  });

  test("a queued run has ended when it was waited for, behind those that it was queued behind", async () => {
    const doubled = (g: Graph) => g.output("y", g.pointwise({ a: g.input("x", [1, 1, 1, 2]), aScale: 2 }));
    const [first, second] = [await make(doubled), await make(doubled)];
    await first.write("x", [1, 2]);
    await first.queue();
    await second.queue({ after: [first], copies: [second.copyOf("x", first, "y")] });
    await second.wait();
    expect([...(await second.read("y"))]).toEqual([4, 8]);
    await first.stage("x", [3, 4]);
    await first.queue();
    await first.wait();
    expect([...(await first.read("y"))]).toEqual([6, 8]);
    const error = await rejection(first.queue({ signal: AbortSignal.abort() }));
    expect(error.code).toBe("cancelled");
  });

  test("a second run while one goes on is refused, and the first is not disturbed", async () => {
    const plan = await make(counting(500));
    const first = plan.run();
    expect(await rejection(plan.run())).toMatchObject({
      code: "unsupported",
      expected: "one run of a program at a time",
    });
    await first;
    expect([...plan.readSync("count")]).toEqual([500]);
  });

  test("a freed plan says so; freeing during a run lets it finish", async () => {
    const plan = await compile(device, counting(500));
    const running = plan.run();
    plan.freeSync();
    await running;
    expect(await rejection(plan.run())).toMatchObject({ code: "layout", got: "one that was freed" });
    expect(failure(() => plan.readSync("count"))).toMatchObject({ code: "layout", got: "one that was freed" });
  });
});

describe("cancel", () => {
  const [total, width] = [4_000, 50_000];
  const slow = counting(total, width);

  test("before the start runs nothing", async () => {
    const plan = await make(counting(3));
    expect(await rejection(plan.run({ signal: AbortSignal.abort() }))).toMatchObject({ code: "cancelled" });
    expect([...plan.readSync("count")]).toEqual([0]);
  });

  test("right after the start is not lost", async () => {
    const plan = await make(slow);
    let stoppedEarly = 0;
    for (let i = 0; i < 5; i++) {
      plan.writeSync("count", new Float32Array(width));
      const controller = new AbortController();
      const running = plan.run({ signal: controller.signal });
      controller.abort();
      expect(await rejection(running)).toMatchObject({ code: "cancelled" });
      if (plan.readSync("count")[0]! < total) stoppedEarly++;
    }
    expect(stoppedEarly).toBeGreaterThan(0);
  });

  test("during a run stops between two rows, and the next run is whole", async () => {
    const plan = await make(slow);
    const controller = new AbortController();
    const running = plan.run({ signal: controller.signal });
    while (plan.readSync("count")[0] === 0) await new Promise((resolve) => setImmediate(resolve));
    controller.abort();
    expect(await rejection(running)).toMatchObject({ code: "cancelled", where: "run" });
    expect(plan.readSync("count")[0]).toBeLessThan(total);
    plan.writeSync("count", new Float32Array(width));
    await plan.run({ signal: new AbortController().signal });
    expect(plan.readSync("count")[0]).toBe(total);
  });

  test("after the end does nothing", async () => {
    const plan = await make(counting(2));
    const controller = new AbortController();
    await plan.run({ signal: controller.signal });
    controller.abort();
    await plan.run();
    expect([...plan.readSync("count")]).toEqual([4]);
  });
});

test("plans of one device share packed weights and run side by side", async () => {
  const weight = (g: Graph) =>
    g.constant(
      Float32Array.from({ length: 64 * 64 }, (_, i) => (i % 7) - 3),
      [64, 64],
    );
  const build = (g: Graph) => g.output("y", g.linear({ x: g.input("x", [1, 1, 9, 64]), weight: weight(g) }));
  const [a, b] = await Promise.all([make(build), make(build)]);
  const x = Float32Array.from({ length: 9 * 64 }, (_, i) => Math.sin(i));
  for (const plan of [a, b]) plan.writeSync("x", x);
  await Promise.all([a.run(), b.run()]);
  expect(a.readSync("y")).toEqual(b.readSync("y"));
});
