import { isVdError } from "@vd/kernels-native";
import { afterEach, expect, test } from "vitest";
import { createLiveSession, type LiveSession } from "../../src/index";
import { readFrames, TINY_LIVE } from "../support/tiny-live";

const open: LiveSession[] = [];
afterEach(async () => {
  for (const session of open.splice(0)) await session.close();
});

async function start(options: object = {}): Promise<LiveSession> {
  const session = await createLiveSession({ model: TINY_LIVE, pace: "reader", threads: 1, ...options });
  open.push(session);
  return session;
}

/** What a refusal says; whatever else is thrown is a mistake of the session's own. */
async function refusalOf(work: () => unknown): Promise<string> {
  try {
    await work();
  } catch (error) {
    return isVdError(error) ? error.message : `not a VdError: ${error}`;
  }
  return "nothing was refused";
}

test.each<[object, string]>([
  [{ stepz: 2 }, 'got "stepz". Did you mean steps?'],
  [{ cache: { maxage: 3 } }, '[session] [cache] expected values out of maxChange, maxAge, got "maxage"'],
  [{ model: 5 }, "[session] [model] expected a folder, a file or an open pipeline, got 5"],
  [{ model: {} }, "[session] [model]"],
  [{ random: "sd9" }, "[session] [random] expected one of"],
  [{ signal: {} }, "[session] [signal] expected an AbortSignal, got an object"],
  [{ threads: null }, "[session] [threads] expected a number of threads, got null"],
  [{ fps: "25" }, '[session] [fps] expected frames a second above 0, at most 1000, got "25"'],
  [{ fps: true }, "[session] [fps]"],
  [{ deadlineMs: "40" }, '[session] [deadlineMs] expected milliseconds above 0, got "40"'],
  [{ deadlineMs: Number.NaN }, "[session] [deadlineMs] expected milliseconds above 0, got NaN"],
  [{ steps: "2" }, '[session] [steps] expected one of 1, 2, 3, 5, got "2"'],
  [{ size: { width: 97, height: 64 } }, "[session] [size] expected width and height in multiples of 8, got 97 x 64"],
  [{ size: null }, "[session] [size] expected an object of values, got null"],
  [{ size: { width: 96 } }, "[session] [size.height] expected a whole number from 1 to 8192, got nothing"],
  [{ size: "96x64" }, '[session] [size] expected an object of values, got "96x64"'],
  [{ drift: true }, "[session] [drift] expected an object of values, got true"],
  [{ drift: {} }, "[session] [drift.everyFrames] expected a whole number"],
  [{ guard: 5 }, "[session] [guard] expected an object of values, got 5"],
  [{ cache: "yes" }, '[session] [cache] expected an object of values, got "yes"'],
  [{ cache: null }, "[session] [cache]"],
  [{ adaptive: [] }, "[session] [adaptive] expected an object of values, got []"],
  [{ start: 5 }, "[session] [start] expected a start state's name, or pictures, got 5"],
  [{ start: null }, "[session] [start]"],
  [{ start: [{}] }, "[session] [start] expected pictures of 96 x 64, RGB or RGBA, got an object without bytes"],
])("%j is refused in a sentence", async (options, words) => {
  expect(await refusalOf(() => start(options))).toContain(words);
});

test("what is no object of options is refused, too", async () => {
  for (const options of [null, 5, "x", []])
    expect(await refusalOf(() => createLiveSession(options as never))).toContain(
      "[session] expected an object of options",
    );
});

test("set, push and restart refuse what is none of theirs, and the game goes on", async () => {
  const session = await start();
  const faults: [() => unknown, string][] = [
    [() => session.set(null as never), "[session] [set] expected an object of parameters, got null"],
    [() => session.set({ fps: 30 } as never), "[session] [set] expected parameters out of steps, deadlineMs"],
    [() => session.set({ onEdge: () => 1 } as never), 'got "onEdge"'],
    [() => session.set({ deadlineMs: "3" } as never), "[session] [deadlineMs]"],
    [
      () => session.push(undefined as never),
      "[session] [push] expected a picture of 96 x 64, RGB or RGBA, got nothing",
    ],
    [() => session.push({ width: 96, height: 64 } as never), "got an object without bytes"],
    [
      () => session.push({ width: 96, height: 64, data: new Float32Array(96 * 64 * 3) } as never),
      "without bytes in data",
    ],
    [() => session.push({ width: 96, height: 64, data: "x".repeat(96 * 64 * 3) } as never), "without bytes in data"],
    [
      () => session.push({ width: "96", height: 64, data: new Uint8Array(96 * 64 * 3) } as never),
      'got "96" x 64, 18432',
    ],
    [() => session.act("" as never), 'or a number below 6, got ""'],
    [() => session.act(null as never), "or a number below 6, got null"],
    [() => session.restart(5 as never), "[session] [start] expected a start state's name, or pictures, got 5"],
    [() => session.restart(null as never), "[session] [start]"],
  ];
  for (const [work, words] of faults) expect(await refusalOf(work)).toContain(words);
  expect((await readFrames(session, 2)).map(({ index }) => index)).toEqual([0, 1]);
});
