import { performance } from "node:perf_hooks";
import { expect, test } from "vitest";
import { createLiveSession } from "../../src/index";
import { heldMemory } from "../support/held-memory";
import { readFrames, TINY_LIVE } from "../support/tiny-live";

/** Ten hours at 25 frames a second where there is time for them. */
const FRAMES = process.env.VD_LONG === "1" ? 900_000 : 60;
/** Frames that are timed together. */
const GROUP = 10;
/** How long a single wait of the event loop may take. */
const LONGEST_WAIT_MS = 2;
/** How many more groups are timed where other processes disturbed all of them: a quarter of a minute. */
const MORE_GROUPS = 100;
/** What a thousand garbage collections may leave behind: V8's own tables. */
const SLACK = 2 ** 17;

test(`${FRAMES} frames keep no memory, and the event loop waits little for them`, { timeout: 36_000_000 }, async () => {
  const session = await createLiveSession({ model: TINY_LIVE, pace: "reader", threads: 2 });
  const frames = session[Symbol.asyncIterator]();
  for (let i = 0; i < 20; i++) await frames.next();
  const before = heldMemory();
  let activeMs = Number.POSITIVE_INFINITY;
  const groups = FRAMES / GROUP;
  for (let group = 0; group < groups || (activeMs >= LONGEST_WAIT_MS && group < groups + MORE_GROUPS); group++) {
    const loop = performance.eventLoopUtilization();
    for (let i = 0; i < GROUP; i++) await frames.next();
    activeMs = Math.min(activeMs, performance.eventLoopUtilization(loop).active / GROUP);
  }
  const after = heldMemory();
  expect(after.outside - before.outside).toBeLessThanOrEqual(0);
  expect(after.heap - before.heap).toBeLessThan(SLACK);
  // All that this thread does for a frame, in the group that other processes disturbed least: 0.5 ms where none does.
  expect(activeMs).toBeLessThan(LONGEST_WAIT_MS);
  await session.close();
});

test("sessions that are closed give their memory back", async () => {
  const play = async () => {
    const session = await createLiveSession({ model: TINY_LIVE, pace: "reader", threads: 1 });
    await readFrames(session, 1);
    await session.close();
  };
  for (let i = 0; i < 2; i++) await play();
  const before = heldMemory();
  for (let i = 0; i < 3; i++) await play();
  const after = heldMemory();
  expect(after.outside - before.outside).toBeLessThan(SLACK);
  expect(after.heap - before.heap).toBeLessThan(8 * SLACK);
});
