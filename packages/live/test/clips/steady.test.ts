import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { expect, test } from "vitest";
import { createLiveSession } from "../../src/index";
import { heldMemory } from "../support/held-memory";

const TINY_SVD = fileURLToPath(new URL("../../../../models/tiny-svd", import.meta.url));
/** Clips that are watched; thousands where there is time for them. */
const CLIPS = process.env.VD_LONG === "1" ? 5000 : 8;
/** Frames that each clip adds. */
const ADDED = 2;
/** What a thousand garbage collections may leave behind: V8's own tables, and code that it has compiled meanwhile. */
const SLACK = 2 ** 19;

test(`${CLIPS} clips keep no memory`, { timeout: 36_000_000 }, async () => {
  const session = await createLiveSession({
    ...{ model: TINY_SVD, picture: join(TINY_SVD, "samples/one-ball.png"), size: { width: 32, height: 32 } },
    ...{ clips: { frames: 4, overlap: 2 }, steps: 1, guidanceScale: 1, pace: "reader", threads: 2 },
  });
  const frames = session[Symbol.asyncIterator]();
  const play = async (clips: number) => {
    for (let i = 0; i < clips * ADDED; i++) await frames.next();
    // The clip that is made ahead is then there, in the same place each time.
    await session.snapshot();
    await new Promise((resolve) => setTimeout(resolve, 600));
  };
  await play(5);
  const before = heldMemory();
  await play(CLIPS);
  const after = heldMemory();
  // One clip of 4 frames more or less may be on its way.
  expect(after.outside - before.outside).toBeLessThan(SLACK);
  expect(after.heap - before.heap).toBeLessThan(SLACK);
  await session.close();
});
