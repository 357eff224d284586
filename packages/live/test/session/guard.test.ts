import { afterEach, expect, test } from "vitest";
import { createLiveSession, DEFAULT_GUARD, type LiveSession, type LiveSessionOptions } from "../../src/index";
import { guardWith, NO_GUARD } from "../../src/session/guard";
import { lookOf } from "../../src/session/look";
import { readFrames, TINY_LIVE } from "../support/tiny-live";

const open: LiveSession[] = [];
afterEach(async () => {
  for (const session of open.splice(0)) await session.close();
});

async function start(options: LiveSessionOptions = {}): Promise<LiveSession> {
  const session = await createLiveSession({ model: TINY_LIVE, pace: "reader", threads: 2, ...options });
  open.push(session);
  return session;
}

const pictures = (frames: readonly { data: Uint8Array }[]) => frames.map(({ data }) => data);

/** Contrast of a frame, in units of pixels in [-1, 1]. */
function contrastOf({ data }: { data: Uint8Array }): number {
  const numbers = Float32Array.from(data, (level) => level / 127.5 - 1);
  return lookOf(numbers, { width: 96, height: 64 }).contrast;
}

/** Shows a session a night until it goes on with it. */
async function fallNight(session: LiveSession): Promise<void> {
  const night = await start({ start: "meadow-night" });
  for (const { data } of await readFrames(night, 6)) {
    session.push({ width: 96, height: 64, data });
    await readFrames(session, 1);
  }
}

test("by default pictures that went dull are brought back; false turns everything off, true is the default", () => {
  expect(DEFAULT_GUARD).toEqual({ renoise: 0, anchor: 0, recover: 0.05 });
  expect(guardWith(DEFAULT_GUARD, undefined)).toEqual(DEFAULT_GUARD);
  expect(guardWith(DEFAULT_GUARD, { anchor: 0.1 })).toEqual({ ...DEFAULT_GUARD, anchor: 0.1 });
  expect(guardWith(DEFAULT_GUARD, { recover: undefined })).toEqual(DEFAULT_GUARD);
  expect(guardWith(DEFAULT_GUARD, false)).toEqual(NO_GUARD);
  expect(guardWith(NO_GUARD, { renoise: 0.1 })).toEqual({ ...NO_GUARD, renoise: 0.1 });
  expect(guardWith(NO_GUARD, true)).toEqual(DEFAULT_GUARD);
});

test("a lively game has the bits that it has without a guard", async () => {
  const [plain, guarded] = [await start({ guard: false }), await start()];
  expect(pictures(await readFrames(guarded, 8))).toEqual(pictures(await readFrames(plain, 8)));
});

test("a night that a game would not get out of keeps its contrast", { timeout: 120_000 }, async () => {
  const begin = { start: "autumn-afternoon", seed: 5 };
  const [plain, guarded] = [await start({ ...begin, guard: false }), await start(begin)];
  const day = contrastOf((await readFrames(plain, 1))[0]!);
  for (const session of [plain, guarded]) await fallNight(session);
  const [lost, held] = [(await readFrames(plain, 120)).at(-1)!, (await readFrames(guarded, 120)).at(-1)!];
  // Less than half of the start's is what a collapse is.
  expect(contrastOf(lost)).toBeLessThan(0.5 * day);
  expect(contrastOf(held)).toBeGreaterThan(0.58 * day);
});

test("a snapshot goes on in the same frames while a picture is brought back, in a session of another start too", async () => {
  const session = await start({ start: "autumn-afternoon" });
  await fallNight(session);
  await readFrames(session, 20);
  const snapshot = structuredClone(await session.snapshot());
  expect(snapshot.recovery).toBeGreaterThan(0);
  const wanted = pictures(await readFrames(session, 10));
  const other = await start({ start: "snow-morning", seed: 9 });
  await other.restore(snapshot);
  expect(pictures(await readFrames(other, 10))).toEqual(wanted);
  for (const change of [{ recovery: 2 }, { recovery: "1" }, { look: {} }, { look: { ...snapshot.look, mean: [1] } }])
    await expect(other.restore({ ...snapshot, ...change } as never)).rejects.toThrow(/\[(recovery|look)\] expected/);
});

test("a new start forgets what was being brought back", async () => {
  const session = await start({ start: "autumn-afternoon" });
  await fallNight(session);
  await readFrames(session, 5);
  expect((await session.snapshot()).recovery).toBeGreaterThan(0);
  await session.restart("meadow-night");
  expect((await session.snapshot()).recovery).toBeUndefined();
});

test("a guard can be turned on and off while a game runs", async () => {
  const [plain, changing] = [await start({ guard: false }), await start({ guard: false })];
  await changing.set({ guard: { anchor: 0.5 } });
  const [[before], [held]] = [await readFrames(plain, 1), await readFrames(changing, 1)];
  expect(held!.data).not.toEqual(before!.data);
  const snapshot = await changing.snapshot();
  await plain.restore(snapshot);
  await changing.set({ guard: false });
  expect(pictures(await readFrames(changing, 2))).toEqual(pictures(await readFrames(plain, 2)));
});

test("a start of a single colour has nothing that could be missing", async () => {
  const grey = { width: 96, height: 64, data: new Uint8Array(96 * 64 * 3).fill(128) };
  const begin = { start: [grey, grey, grey, grey] };
  const [plain, guarded] = [await start({ ...begin, guard: false }), await start(begin)];
  expect(pictures(await readFrames(guarded, 5))).toEqual(pictures(await readFrames(plain, 5)));
});
