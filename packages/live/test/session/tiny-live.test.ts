import { afterEach, expect, test } from "vitest";
import { createLiveSession, type LiveSession, type LiveSessionOptions } from "../../src/index";
import { largestDifference, readFrames, TINY_LIVE } from "../support/tiny-live";

const open: LiveSession[] = [];

/** A session that makes a frame when it is asked for one. */
async function start(options: LiveSessionOptions = {}): Promise<LiveSession> {
  const session = await createLiveSession({ model: TINY_LIVE, pace: "reader", threads: 2, ...options });
  open.push(session);
  return session;
}

afterEach(async () => {
  for (const session of open.splice(0)) await session.close();
});

const pictures = (frames: readonly { data: Uint8Array }[]) => frames.map(({ data }) => data);

test("the same seed and actions give the same game, another action another one", async () => {
  const [a, b, c] = [await start({ seed: 7 }), await start({ seed: 7, threads: 1 }), await start({ seed: 7 })];
  c.act("left");
  const [first, second, third] = [await readFrames(a, 4), await readFrames(b, 4), await readFrames(c, 4)];
  expect(pictures(first)).toEqual(pictures(second));
  expect(largestDifference(first[3]!.data, third[3]!.data)).toBeGreaterThan(10);
  expect(third.map(({ action }) => action)).toEqual(["left", "left", "left", "left"]);
});

test("a picture that is pushed becomes what the next frame follows", async () => {
  const [plain, pushed, halfway] = [await start(), await start(), await start({ blend: 0 })];
  const [before] = await readFrames(plain, 1);
  await readFrames(pushed, 1);
  await readFrames(halfway, 1);
  const white = new Uint8Array(before!.data.length).fill(255);
  for (const session of [pushed, halfway]) session.push({ width: 96, height: 64, data: white });
  const [next] = await readFrames(plain, 1);
  const [changed] = await readFrames(pushed, 1);
  const [kept] = await readFrames(halfway, 1);
  expect(largestDifference(next!.data, changed!.data)).toBeGreaterThan(30);
  expect(kept!.data).toEqual(next!.data);
  const rgba = Uint8Array.from({ length: 96 * 64 * 4 }, () => 255);
  expect(() => pushed.push({ width: 96, height: 64, data: rgba })).not.toThrow();
  expect(() => pushed.push({ width: 64, height: 96, data: rgba })).toThrow(/expected a picture of 96 x 64/);
});

test("a snapshot goes on in the same frames, also in another session and after the way of plain data", async () => {
  const session = await start({ seed: 3 });
  session.act("right+jump");
  await readFrames(session, 3);
  const snapshot = structuredClone(await session.snapshot());
  expect(snapshot).toMatchObject({ model: "tiny-live", index: 3, action: "right+jump", steps: 1 });
  const wanted = await readFrames(session, 3);
  await session.restore(snapshot);
  expect(pictures(await readFrames(session, 3))).toEqual(pictures(wanted));
  const other = await start({ seed: 99, start: "snow-morning" });
  await other.restore(snapshot);
  const again = await readFrames(other, 3);
  expect(again.map(({ index }) => index)).toEqual([3, 4, 5]);
  expect(pictures(again)).toEqual(pictures(wanted));
});

test("a snapshot of before the first frame goes on in the same frames, also with the noise of a guard", async () => {
  const session = await start({ guard: { renoise: 0.05 } });
  const snapshot = await session.snapshot();
  const wanted = await readFrames(session, 3);
  await session.restore(snapshot);
  expect(pictures(await readFrames(session, 3))).toEqual(pictures(wanted));
  const other = await start({ seed: 5, guard: { renoise: 0.05 } });
  await other.restore(snapshot);
  expect(pictures(await readFrames(other, 3))).toEqual(pictures(wanted));
});

test("calls of set count in their order, however long what they need takes to load", async () => {
  const session = await start();
  await Promise.all([session.set({ steps: 5 }), session.set({ steps: 2 }), session.set({ steps: 1 })]);
  expect((await readFrames(session, 1))[0]!.steps).toBe(1);
  const settled = await Promise.allSettled([session.set({ steps: 4 }), session.set({ steps: 2 })]);
  expect(settled.map(({ status }) => status)).toEqual(["rejected", "fulfilled"]);
  expect((await readFrames(session, 1))[0]!.steps).toBe(2);
  const late = Promise.allSettled([session.set({ steps: 3 }), session.set({ steps: 5 })]);
  await session.close();
  expect((await late).at(-1)).toMatchObject({ status: "rejected", reason: { code: "unsupported" } });
});

test("a snapshot of something else is refused, whatever it is", async () => {
  const session = await start();
  const snapshot = await session.snapshot();
  const faults: [object, RegExp][] = [
    [{ format: "vd-live/2" }, /\[format\] expected vd-live\/1/],
    [{ model: "other" }, /\[model\] expected tiny-live, got other/],
    [{ width: 64 }, /\[size\]/],
    [{ index: -1 }, /\[index\]/],
    [{ steps: 4 }, /\[steps\] expected one of 1, 2, 3, 5/],
    [{ action: "fly" }, /\[restore\] \[action\] expected one of none, left/],
    [{ context: new Float32Array(5) }, /\[context\] expected a Float32Array of 73728 finite numbers, got 5 numbers/],
    [{ context: new Float32Array(snapshot.context.length).fill(Number.NaN) }, /73728 numbers, some of them not finite/],
    [{ context: [...snapshot.context] }, /\[context\] .*, got a list of 73728/],
    [{ generator: new Uint32Array(625).fill(700) }, /\[generator\] .* got 625 words, the last of them 700/],
  ];
  for (const [change, message] of faults)
    await expect(session.restore({ ...snapshot, ...change })).rejects.toThrow(message);
  await expect(session.restore(null as never)).rejects.toThrow(/an object/);
  expect((await readFrames(session, 1))[0]!.index).toBe(0);
});

test("a start state begins a new game in the same session", async () => {
  const [session, fresh] = [await start({ start: "snow-morning" }), await start({ start: "meadow-night" })];
  const [snow] = await readFrames(session, 1);
  await session.restart("meadow-night");
  const [night] = await readFrames(session, 1);
  const [wanted] = await readFrames(fresh, 1);
  // Another frame's noise, so not the same picture.
  expect(largestDifference(night!.data, snow!.data)).toBeGreaterThan(60);
  const mean = (data: Uint8Array) => data.reduce((sum, value) => sum + value, 0) / data.length;
  expect(Math.abs(mean(night!.data) - mean(wanted!.data))).toBeLessThan(2);
  await expect(session.restart("moon")).rejects.toThrow(/one of meadow-morning, /);
});

test("what is asked of a session that closes meanwhile is refused", async () => {
  const session = await start();
  const snapshot = await session.snapshot();
  const restoring = session.restore(snapshot);
  const closing = session.close();
  await expect(restoring).rejects.toThrow(/an open session/);
  await closing;
  await expect(session.snapshot()).rejects.toThrow(/an open session/);
  await expect(session.restart()).rejects.toThrow(/an open session/);
});

test("all numbers of steps of the model", async () => {
  const session = await start({ steps: 5 });
  for (const steps of [5, 3, 2, 1]) {
    await session.set({ steps });
    expect((await readFrames(session, 1))[0]!.steps).toBe(steps);
  }
  expect(session.stats().steps).toEqual({ 1: 1, 2: 1, 3: 1, 5: 1 });
  await expect(session.set({ steps: 4 })).rejects.toThrow(/one of 1, 2, 3, 5/);
});

test("a guard without amounts changes nothing; with them it holds the start's colours", async () => {
  const begin = { guard: { recover: 0 } };
  const [plain, idle, holding] = [
    await start({ guard: false }),
    await start(begin),
    await start({ guard: { anchor: 1 } }),
  ];
  const [a, b, c] = [await readFrames(plain, 2), await readFrames(idle, 2), await readFrames(holding, 2)];
  expect(pictures(b)).toEqual(pictures(a));
  expect(largestDifference(a[1]!.data, c[1]!.data)).toBeGreaterThan(0);
  await idle.set({ guard: { renoise: 0.3 } });
  const [[noisy], [quiet]] = [await readFrames(idle, 1), await readFrames(plain, 1)];
  expect(largestDifference(noisy!.data, quiet!.data)).toBeGreaterThan(3);
});

test("deep features of the same frame give the exact picture; of an earlier one a near one", async () => {
  const [exact, cached] = [await start(), await start({ cache: { maxAge: 2, maxChange: 1 } })];
  const [a, b] = [await readFrames(exact, 2), await readFrames(cached, 2)];
  expect(b.map((frame) => frame.cached)).toEqual([false, true]);
  expect(a[0]!.data).toEqual(b[0]!.data);
  const difference = largestDifference(a[1]!.data, b[1]!.data);
  expect(difference).toBeGreaterThan(0);
});

test("times and drift are measured when they are asked for", async () => {
  const session = await start({ timeEvery: 1, drift: { everyFrames: 2 } });
  const frames = await readFrames(session, 3);
  expect(frames.map(({ drift }) => drift?.frame)).toEqual([0, undefined, 2]);
  const { parts, drift } = session.stats();
  expect(Object.keys(parts).sort()).toEqual(
    ["inputs", "noise", "output", "run", "run.context", "run.drift", "run.frame", "run.network", "run.sampler"].sort(),
  );
  expect(parts["run.network"]).toBeGreaterThan(parts["run.sampler"]!);
  expect(drift?.frame).toBe(2);
  // Right after the start the world still looks as it did.
  expect(drift!.collapse).toBeLessThan(0.1);
  expect(drift!.colourDrift).toBeLessThan(0.1);
});

test("an abort ends the iteration with its reason", async () => {
  const controller = new AbortController();
  const session = await start({ signal: controller.signal });
  await readFrames(session, 1);
  controller.abort(new Error("enough"));
  await expect(readFrames(session, 1)).rejects.toThrow(/cancelled|live session/);
  expect(session.closed).toBe(true);
  await expect(start({ signal: controller.signal })).rejects.toThrow(/live session/);
});

test.each([
  [{ steps: 4 }, /\[steps\] expected one of 1, 2, 3, 5, got 4/],
  [{ policy: "wait" }, /\[policy\] expected one of skip, repeat, fewer-steps/],
  [{ fps: 0 }, /\[fps\]/],
  [{ deadlineMs: -1 }, /\[deadlineMs\]/],
  [{ queueFrames: 0 }, /\[queueFrames\]/],
  [{ blend: 2 }, /\[blend\]/],
  [{ pace: "fast" }, /\[pace\]/],
  [{ guard: { renoise: -1 } }, /\[guard.renoise\]/],
  [{ guard: { recover: "much" } }, /\[guard.recover\] expected a number from 0 to 1, got "much"/],
  [{ cache: { maxAge: 0 } }, /\[cache.maxAge\]/],
  [{ adaptive: { headroom: 2 } }, /\[adaptive.headroom\]/],
  [{ start: "moon" }, /\[start\] expected one of/],
  [{ start: [] }, /\[start\]/],
  [{ size: { width: 100, height: 64 } }, /multiples of 8/],
  [{ model: "/nowhere" }, /live\.json/],
] as [object, RegExp][])("refuses %j", async (options, message) => {
  await expect(start(options)).rejects.toThrow(message);
});

test("another size in multiples of the network's step", async () => {
  const session = await start({ size: { width: 48, height: 32 } });
  const [frame] = await readFrames(session, 1);
  expect([frame!.width, frame!.height, frame!.data.length]).toEqual([48, 32, 48 * 32 * 3]);
});
