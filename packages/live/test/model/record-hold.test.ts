import { openDevice } from "@vd/kernels-native";
import { layoutGraph, Plan } from "@vd/tensor";
import { afterEach, expect, test } from "vitest";
import { allocateFrameMemory, type FrameMemory } from "../../src/index";
import { recordHold } from "../../src/model/record-hold";
import { lookOf } from "../../src/session/look";

const [WIDTH, HEIGHT] = [16, 8];

/** A picture with stripes of `contrast` around a mean of each channel. */
const picture = (contrast: number, mean: readonly number[]) =>
  Float32Array.from({ length: WIDTH * HEIGHT * 3 }, (_, i) => {
    const [c, x] = [i % 3, Math.floor(i / 3) % WIDTH];
    return mean[c]! + contrast * Math.sin(x * (0.7 + 0.1 * c) + c);
  });

const START = picture(0.4, [0.2, 0.3, -0.1]);
const DULL = picture(0.1, [-0.5, -0.4, -0.3]);

let memory: FrameMemory | undefined;
let plan: Plan | undefined;
afterEach(async () => {
  await plan?.free();
  await memory?.free();
  [plan, memory] = [undefined, undefined];
});

/** Holds pictures to the look of START; each call is a frame, and gives what was made of it and how far it is recovering. */
async function holding({ anchor, recover }: { anchor: number; recover: number }) {
  const device = openDevice("cpu", { threads: 1 });
  const size = { width: WIDTH, height: HEIGHT };
  memory = await allocateFrameMemory(device, { ...size, contextFrames: 1, actions: 1, features: [1, 1, 1, 1, 4] });
  const { mean, deviation, contrast, detail } = lookOf(START, size);
  memory.holdAmounts.buffer.writeSync(Float32Array.of(anchor, recover));
  memory.holdMean.buffer.writeSync(Float32Array.from(mean));
  memory.holdDeviation.buffer.writeSync(Float32Array.from(deviation));
  memory.holdLiveliness.buffer.writeSync(Float32Array.of(1 / contrast, 1 / detail));
  const dims = [1, 1, HEIGHT, WIDTH, 3];
  const layout = layoutGraph((g) => g.output("held", recordHold(g, memory!, g.input("frame", dims, "f32"))));
  plan = await Plan.load(device, layout);
  return async (frame: Float32Array) => {
    plan!.writeSync("frame", frame);
    await plan!.run();
    const recovery = memory!.recovery.buffer.readSync(new Float32Array(1))[0]!;
    return { held: plan!.readSync("held").slice(), recovery };
  };
}

const moments = (frame: Float32Array) => lookOf(frame, { width: WIDTH, height: HEIGHT });

test("a lively picture is left as it is in every bit, for as long as it is lively", async () => {
  const hold = await holding({ anchor: 0, recover: 0.5 });
  for (const contrast of [0.4, 0.3, 0.28, 0.6])
    for (let i = 0; i < 5; i++) {
      const frame = picture(contrast, [-0.5, 0.1, 0.2]);
      expect(await hold(frame)).toEqual({ held: frame, recovery: 0 });
    }
});

test("a picture that stays dull is drawn to the start's look more and more, and let go once it is lively", async () => {
  const hold = await holding({ anchor: 0, recover: 0.5 });
  const first = await hold(DULL);
  // A quarter of the contrast is left: 0.65 - 0.25, times the rate.
  expect(first.recovery).toBeCloseTo(0.05 * 0.4, 4);
  let last = first;
  for (let i = 0; i < 60; i++) last = await hold(DULL);
  expect(last.recovery).toBe(1);
  const [start, dull, held] = [START, DULL, last.held].map(moments) as ReturnType<typeof moments>[];
  for (const c of [0, 1, 2]) {
    expect(held!.mean[c]).toBeCloseTo((start!.mean[c]! + dull!.mean[c]!) / 2, 4);
    expect(held!.deviation[c]).toBeCloseTo((start!.deviation[c]! + dull!.deviation[c]!) / 2, 4);
  }
  let frames = 0;
  while ((await hold(START)).recovery > 0) frames++;
  // 0.04 times the rate: 0.002 a frame.
  expect(Math.abs(frames - 499)).toBeLessThanOrEqual(1);
  expect((await hold(START)).held).toEqual(START);
});

test("a picture that has its contrast and has lost its detail is dull, too", async () => {
  const hold = await holding({ anchor: 0, recover: 0.5 });
  const smooth = Float32Array.from({ length: START.length }, (_, i) => 0.6 * Math.sin((Math.floor(i / 3) % WIDTH) / 5));
  expect(moments(smooth).contrast).toBeGreaterThan(0.65 * moments(START).contrast);
  expect((await hold(smooth)).recovery).toBeGreaterThan(0);
});

test("an anchor draws always, and both together no further than to the look itself", async () => {
  const hold = await holding({ anchor: 0.25, recover: 1 });
  const [start, lively] = [moments(START), picture(0.5, [0, 0, 0])];
  const { held, recovery } = await hold(lively);
  expect(recovery).toBe(0);
  for (const c of [0, 1, 2])
    expect(moments(held).mean[c]).toBeCloseTo(0.75 * moments(lively).mean[c]! + 0.25 * start.mean[c]!, 4);
  let last = held;
  for (let i = 0; i < 60; i++) last = (await hold(DULL)).held;
  for (const c of [0, 1, 2]) expect(moments(last).deviation[c]).toBeCloseTo(start.deviation[c]!, 3);
});
