import { type Device, openDevice } from "@vd/kernels-native";
import type { Plan } from "@vd/tensor";
import { expect, test } from "vitest";
import { createLiveSession, DiffusionBatches, openDiffusionModel, PictureEngine } from "../../src/index";
import { numbersOfLevels } from "../../src/model/picture-levels";
import type { LiveSession, LiveSessionOptions } from "../../src/session/types";
import { heldMemory } from "../support/held-memory";
import { STABLE_DIFFUSION, slope } from "../support/stable-diffusion";

const SIDE = 32;
const REDS = [10, 200, 90, 170, 30, 250];

const open = (options: LiveSessionOptions = {}) =>
  createLiveSession({ model: STABLE_DIFFUSION, pace: "reader", prompt: "a photo of the cat", threads: 1, ...options });

async function frameOf(session: LiveSession, red?: number): Promise<Uint8Array> {
  if (red !== undefined) session.push(slope(red));
  const { value } = await session[Symbol.asyncIterator]().next();
  return value.data.slice();
}

async function play(options: LiveSessionOptions, reds: readonly (number | undefined)[]): Promise<Uint8Array[]> {
  const session = await open(options);
  const frames: Uint8Array[] = [];
  for (const red of reds) frames.push(await frameOf(session, red));
  await session.close();
  return frames;
}

test.each<LiveSessionOptions>([{}, { steps: 2, guidance: "self" }, { temporalBlend: { weight: 0.5 } }, { blend: 0.5 }])(
  "a frame begun ahead is the same one, a frame later, %j",
  async (options) => {
    // The first picture is what both frames begin with that are put on their way at first.
    const plain = await play(options, [REDS[0], ...REDS]);
    const ahead = await play({ ...options, ahead: 1 }, [...REDS, undefined]);
    expect(ahead).toEqual(plain);
    const further = await play({ ...options, ahead: 2 }, [...REDS, undefined, undefined]);
    expect(further).toEqual(await play(options, [REDS[0], REDS[0], ...REDS]));
  },
);

test("what is told counts behind the frames on their way, and a restart lets them go", async () => {
  const session = await open({ ahead: 1 });
  const first = await frameOf(session, 200);
  await session.set({ prompt: "the house" });
  // Begun before the words changed.
  expect(await frameOf(session)).toEqual(first);
  const house = await frameOf(session);
  expect(house).not.toEqual(first);
  await session.restart();
  expect(await frameOf(session, 200)).toEqual(house);
  await session.close();
});

test("a snapshot holds what follows from the frames on their way", async () => {
  const options: LiveSessionOptions = { steps: 2, guidance: "self", ahead: 1 };
  const session = await open(options);
  for (const red of [10, 90]) await frameOf(session, red);
  const kept = await session.snapshot();
  await frameOf(session, 170);
  const next = await frameOf(session, 20);
  await session.close();
  const other = await open({ ...options, ahead: undefined });
  await frameOf(other, 250);
  await other.restore(structuredClone(kept));
  expect(await frameOf(other, 170)).toEqual(next);
  await other.close();
});

test("pictures in 8 bits make the frames that their numbers make", async () => {
  const model = await openDiffusionModel(STABLE_DIFFUSION);
  const device = openDevice("cpu", { threads: 1 });
  const size = { width: SIDE, height: SIDE };
  const conditions = { prompt: "", negativePrompt: "", strength: 0.5, guidanceScale: 1.2, delta: 1 };
  const made: Uint8Array[][] = [];
  for (const pictures of ["levels", "numbers"] as const) {
    const batches = new DiffusionBatches({
      model,
      device,
      ...size,
      seed: 0,
      guidance: "none",
      change: false,
      conditions,
    });
    const engine = await PictureEngine.open({ batches, ...size, change: false, pictures });
    const frames: Uint8Array[] = [];
    for (const red of REDS) {
      const { data } = slope(red);
      if (pictures === "levels") engine.pushVideo(data as Uint8Array, 1);
      else engine.pushNumbers(numbersOfLevels(data as Uint8Array, new Float32Array(data.length)), 1);
      const into = new Uint8Array(data.length);
      await engine.make({ steps: 1, action: 0, drift: false, deep: "none", timing: false, into });
      frames.push(into);
    }
    made.push(frames);
    await engine.free();
  }
  expect(made[0]).toEqual(made[1]);
});

const FRAME = { steps: 1, action: 0, drift: false, deep: "none", timing: false } as const;

/** An engine whose program tells when it begins and ends. */
async function toldEngine(events: string[], { ahead = 0, kind = "cpu", follows = false }) {
  let runs = 0;
  const plan = {
    async run() {
      const run = runs++;
      events.push(`run ${run}`);
      await new Promise((resolve) => setTimeout(resolve, 1));
      events.push(`end ${run}`);
    },
    readSync: () => new Float32Array(16),
  } as unknown as Plan;
  const batch = {
    ...{ steps: 1, isEmpty: true, waits: false, follows },
    isReady: () => true,
    prepare: async () => {},
    take: () => plan,
  };
  const rest = { stateBuffers: () => [], clear() {}, free: async () => {} };
  const cpu = openDevice("cpu");
  const device = { kind, prepare: async () => {}, allocate: cpu.allocate.bind(cpu) } as unknown as Device;
  const batches = { device, open: async () => ({ ...batch, ...rest }) };
  const more = { tell: async () => {}, stateLength: () => 0, free: async () => {} };
  return PictureEngine.open({ batches: { ...batches, ...more }, width: 8, height: 8, change: false, ahead });
}

const ORDERED = ["run 0", "end 0", "run 1", "end 1", "run 2", "end 2", "run 3", "end 3"];

test.each<[string, { kind?: string; follows?: boolean; ahead?: number }, number[], string[]]>([
  ["of pictures alone, on a GPU", { kind: "cuda" }, [1, 1, 1], ["run 0", "run 1", "end 0", "run 2", "end 1"]],
  ["two ahead", { kind: "cuda", ahead: 2 }, [1], ["run 0", "run 1", "run 2", "end 0"]],
  ["on the CPU, where each has all threads", {}, [1, 1, 1], ORDERED],
  ["that need more of the frame before", { kind: "cuda", follows: true }, [1, 1, 1], ORDERED],
  ["made of the frame before in part", { kind: "cuda" }, [0.5, 0.5, 0.5], ORDERED],
  // The third needs the second; the fourth would overwrite what the third reads.
  ["one of which is", { kind: "cuda" }, [1, 0.5, 1], ["run 0", "run 1", "end 0", "end 1", ...ORDERED.slice(4)]],
])("frames are computed beside each other where they need nothing of each other: %s", async (_, how, blends, order) => {
  const events: string[] = [];
  const engine = await toldEngine(events, { ahead: 1, ...how });
  await engine.prepare(FRAME);
  const into = new Uint8Array(3 * 64);
  // As many frames are begun at first as may be on their way.
  for (const blend of blends) {
    engine.pushVideo(new Uint8Array(3 * 64), blend);
    await engine.make({ ...FRAME, into });
  }
  await engine.free();
  expect(events.slice(0, order.length)).toEqual(order);
});

test("a frame whose drift is measured is computed by itself", async () => {
  const events: string[] = [];
  const engine = await toldEngine(events, { ahead: 1, kind: "cuda" });
  engine.pushVideo(new Uint8Array(3 * 64), 1);
  const begun = engine.make({ ...FRAME, drift: true, into: new Uint8Array(3 * 64) });
  await begun.catch(() => undefined);
  await engine.free();
  expect(events).toEqual(["run 0", "end 0", "run 1", "end 1"]);
});

test.each([
  [0, ["write", "run 0", "handed 0", "write", "run 1", "handed 1"]],
  [1, ["write", "run 0", "write", "run 1", "handed 0", "write", "run 2", "handed 1"]],
] as const)("the device is given its next frame in this order, ahead %i", async (ahead, order) => {
  const events: string[] = [];
  const engine = await toldEngine(events, { ahead });
  const request = FRAME;
  const { parts } = engine;
  const add = parts.add.bind(parts);
  // Every frame asks whether there is something to write.
  parts.add = (part, ms) => {
    if (part === "inputs") events.push("write");
    add(part, ms);
  };
  await engine.prepare(request);
  for (let i = 0; i < 2; i++) {
    await engine.make({ ...request, into: new Uint8Array(3 * 64) });
    events.push(`handed ${i}`);
  }
  expect(events.filter((event) => !event.startsWith("end"))).toEqual(order);
  await engine.free();
});

/** Ten hours at 200 frames a second where there is time for them. */
const FRAMES = process.env.VD_LONG === "1" ? 7_200_000 : 60;
/** What a thousand garbage collections may leave behind: V8's own tables, which also grow at once where it compiles. */
const SLACK = 2 ** 17;
/** What leaks does so in every stretch. */
const STRETCHES = 2;

test.each([0, 1, 2] as const)(`${FRAMES} frames, ahead %i, keep no memory`, { timeout: 360_000_000 }, async (ahead) => {
  const session = await open({ ahead });
  const pictures = [slope(10), slope(200)];
  const frames = session[Symbol.asyncIterator]();
  const next = (i: number) => {
    session.push(pictures[i % 2]!);
    return frames.next();
  };
  for (let i = 0; i < 20; i++) await next(i);
  const growths: number[] = [];
  for (let stretch = 0; stretch < STRETCHES; stretch++) {
    const before = heldMemory();
    for (let i = 0; i < FRAMES / STRETCHES; i++) await next(i);
    const after = heldMemory();
    expect(after.outside - before.outside).toBeLessThanOrEqual(0);
    growths.push(after.heap - before.heap);
  }
  expect(Math.min(...growths)).toBeLessThan(SLACK);
  await session.close();
});

test.each<[LiveSessionOptions, RegExp]>([
  [{ ahead: 3 as never }, /ahead.*from 0 to 2/],
  [{ ahead: 1, devices: ["cpu", "cpu"] }, /ahead.*one device/],
  [{ ahead: 1, model: undefined, prompt: undefined }, /ahead.*a model of pictures and words/],
])("refuses %j", async (options, message) => {
  await expect(open(options)).rejects.toThrow(message);
});
