import { describe, expect, test } from "vitest";
import { fakeSession } from "../support/fake-session";

const indices = (frames: readonly { index: number }[]) => frames.map(({ index }) => index);

describe("the session's clock", () => {
  test("begins one frame a tick", async () => {
    const { session, clock, read, readAll } = fakeSession({ cost: () => 4 });
    const reading = readAll();
    await clock.advance(95);
    expect(indices(read)).toEqual([0, 1, 2, 3, 4, 5, 6, 7, 8, 9]);
    expect(read.map(({ tick }) => tick)).toEqual(indices(read));
    expect(read.every(({ latencyMs, late }) => latencyMs === 4 && !late)).toBe(true);
    const { misses, skipped, jitterMs, fps, latencyMs } = session.stats();
    expect({ misses, skipped, jitterMs, fps, p99: latencyMs.p99 }).toEqual({
      misses: 0,
      skipped: 0,
      jitterMs: 0,
      fps: 100,
      p99: 4,
    });
    await session.close();
    await reading;
  });

  test("skip: ticks that pass while a frame is late have none", async () => {
    const { session, clock, read, readAll } = fakeSession({ cost: (_, index) => (index === 2 ? 35 : 4) });
    const reading = readAll();
    await clock.advance(79);
    expect(read.map(({ tick }) => tick)).toEqual([0, 1, 2, 5, 6, 7]);
    expect(indices(read.filter(({ late }) => late))).toEqual([2]);
    // Its tick and the two behind it are gone; the frame after it begins at once, in the tick that is running.
    expect(session.stats()).toMatchObject({ misses: 1, skipped: 2, frames: 6, repeated: 0 });
    await session.close();
    await reading;
  });

  test("repeat: the frame before comes again at every tick without one", async () => {
    const { session, clock, read, readAll } = fakeSession({
      settings: { policy: "repeat" },
      cost: (_, index) => (index === 2 ? 25 : 4),
    });
    const reading = readAll();
    await clock.advance(59);
    expect(indices(read)).toEqual([0, 1, 1, 1, 2, 3, 4]);
    expect(read.map(({ repeated }) => repeated)).toEqual([false, false, true, true, false, false, false]);
    expect(read.map(({ data }) => data[0])).toEqual([0, 1, 1, 1, 2, 3, 4]);
    expect(session.stats()).toMatchObject({ misses: 1, repeated: 2, skipped: 0, frames: 5 });
    await session.close();
    await reading;
  });

  test("fewer steps: after a miss the next smaller number, more again once they fit", async () => {
    let slow = true;
    const { session, clock, made, readAll } = fakeSession({
      settings: { policy: "fewer-steps", steps: 4 },
      cost: ({ steps }) => steps * (slow ? 4 : 1),
    });
    const reading = readAll();
    await clock.advance(100);
    expect(made.slice(0, 4).map(({ steps }) => steps)).toEqual([4, 2, 2, 2]);
    slow = false;
    await clock.advance(595);
    expect(made.at(-1)?.steps).toBe(4);
    expect(session.stats().misses).toBe(1);
    await session.close();
    await reading;
  });

  test("slow down: the clock goes as slowly as the model, and no faster than it was told", async () => {
    const { session, clock, read, readAll, engine } = fakeSession({
      settings: { policy: "slow-down", deadlineMs: 50 },
      frameMs: 25,
      cost: () => 4,
    });
    const reading = readAll();
    await clock.advance(104);
    // One at once, then one every 25 ms instead of every 10.
    expect(indices(read)).toEqual([0, 1, 2, 3, 4]);
    engine.frameMs = 1;
    await clock.advance(50);
    expect(read.length).toBe(8);
    await session.set({ policy: "skip" });
    engine.frameMs = 25;
    await clock.advance(50);
    expect(read.length).toBe(13);
    expect(session.stats()).toMatchObject({ misses: 0, skipped: 0 });
    await session.close();
    await reading;
  });

  test("a slow reader stops the session: frames never pile up", async () => {
    const { session, clock, made } = fakeSession({ queueFrames: 3, cost: () => 1 });
    await clock.advance(1_000);
    expect(made).toHaveLength(3);
    expect(session.stats()).toMatchObject({ frames: 3, stalls: 1, skipped: 0, misses: 0 });
    const frames = session[Symbol.asyncIterator]();
    expect((await frames.next()).value.index).toBe(0);
    await clock.advance(1_000);
    expect(made).toHaveLength(4);
    await session.close();
  });

  test("a slow reader's frames are as many a second as it reads", async () => {
    const { session, clock } = fakeSession({ cost: () => 1 });
    const frames = session[Symbol.asyncIterator]();
    for (let i = 0; i < 40; i++) {
      const next = frames.next();
      await clock.advance(50);
      await next;
    }
    const { fps, stalls } = session.stats();
    expect(stalls).toBeGreaterThan(30);
    expect(fps).toBeGreaterThan(19);
    expect(fps).toBeLessThan(23);
    await session.close();
  });

  test("a reader that is slower than the ring still sees each picture whole", async () => {
    const { session, clock } = fakeSession({ queueFrames: 1, cost: () => 1 });
    const frames = session[Symbol.asyncIterator]();
    for (let index = 0; index < 12; index++) {
      const next = frames.next();
      await clock.advance(50);
      const { value } = await next;
      await clock.advance(200);
      expect([value.index, ...value.data]).toEqual([index, ...new Array(6).fill(index)]);
    }
    await session.close();
  });
});

describe("what is told to a session", () => {
  test("acts from the next edge on, each action for one frame at least", async () => {
    const { session, clock, made, readAll } = fakeSession({ cost: () => 1 });
    const reading = readAll();
    await clock.advance(15);
    session.act("right");
    session.act("none");
    await clock.advance(20);
    session.act(1);
    session.act("right");
    await clock.advance(20);
    expect(made.map(({ action }) => action)).toEqual([0, 0, 2, 0, 2, 2]);
    await session.close();
    await reading;
  });

  test("parameters count from the next edge on", async () => {
    const { session, clock, made, readAll } = fakeSession({ cost: () => 1 });
    const reading = readAll();
    await clock.advance(5);
    await session.set({ steps: 2 });
    await clock.advance(10);
    expect(made.map(({ steps }) => steps)).toEqual([1, 2]);
    await session.close();
    await reading;
  });

  test("a pause lets the frame under way finish, and stops the clock", async () => {
    const { session, clock, made, read, readAll } = fakeSession({ cost: () => 4 });
    const reading = readAll();
    await clock.advance(11);
    const pausing = session.pause();
    await clock.advance(500);
    await pausing;
    expect([made.length, read.length, session.paused]).toEqual([2, 2, true]);
    session.resume();
    await clock.advance(9);
    expect([made.length, session.stats().skipped, read.at(-1)?.tick]).toEqual([3, 0, 2]);
    await session.close();
    await reading;
  });

  test("going on without a pause changes nothing: frames come no faster", async () => {
    const { session, clock, made, readAll } = fakeSession({ cost: () => 1 });
    const reading = readAll();
    for (let i = 0; i < 30; i++) {
      session.resume();
      await clock.advance(3);
    }
    await clock.advance(5);
    expect(made.length).toBe(10);
    expect(session.stats().fps).toBe(100);
    await session.close();
    await reading;
  });

  test("closing ends the iteration and frees the engine, also in the middle of a frame and twice", async () => {
    const { session, clock, engine, readAll } = fakeSession({ cost: () => 4 });
    const reading = readAll();
    await clock.advance(2);
    const closing = Promise.all([session.close(), session.close()]);
    await clock.advance(10);
    await closing;
    await reading;
    expect([engine.isFreed, session.closed]).toEqual([true, true]);
    expect(() => session.act("left")).toThrow(/an open session/);
    expect(await session[Symbol.asyncIterator]().next()).toEqual({ done: true, value: undefined });
  });

  test("a failure reaches the reader once", async () => {
    const { session, clock, engine } = fakeSession({
      cost: (_, index) => {
        if (index === 1) throw new Error("broken");
        return 1;
      },
    });
    const frames = session[Symbol.asyncIterator]();
    const first = frames.next();
    await clock.advance(5);
    expect((await first).value.index).toBe(0);
    const second = expect(frames.next()).rejects.toThrow("broken");
    await clock.advance(50);
    await second;
    expect(await frames.next()).toEqual({ done: true, value: undefined });
    expect(engine.isFreed).toBe(true);
  });
});

test("the cache computes features anew when their time is over, the picture has changed, or the action is another", async () => {
  const { session, clock, made, readAll } = fakeSession({
    cost: () => 1,
    cache: { maxAge: 3, maxChange: 0.1 },
    change: { frame: 0, features: 0.05 },
  });
  const reading = readAll();
  await clock.advance(45);
  session.act("left");
  await clock.advance(20);
  const modes = made.map(({ deep }) => deep[0]);
  expect(modes.join("")).toBe("crrcrcr");
  expect(session.stats().cached).toBe(4);
  await session.close();
  await reading;
});

test("the adaptive controller takes one step while nothing moves, and as many as fit else", async () => {
  const still = fakeSession({
    cost: ({ steps }) => steps,
    adaptive: { maxSteps: 4 },
    change: { frame: 0.001, features: 0 },
  });
  const readingStill = still.readAll();
  await still.clock.advance(45);
  expect(still.made.map(({ steps }) => steps)).toEqual([4, 1, 1, 1, 1]);
  await still.session.close();
  await readingStill;
  const moving = fakeSession({
    cost: ({ steps }) => 3 * steps,
    adaptive: { maxSteps: 4 },
    change: { frame: 0.2, features: 0 },
  });
  const readingMoving = moving.readAll();
  await moving.clock.advance(57);
  expect(moving.made.map(({ steps }) => steps)).toEqual([4, 2, 2, 2, 2, 2]);
  await moving.session.close();
  await readingMoving;
});
