import { expect, it } from "vitest";
import { openLiveModel, startContext } from "../../src/index";
import { lookOf } from "../../src/session/look";
import { TINY_LIVE } from "../support/tiny-live";

/** Turns of the event loop while `work` goes on. */
async function turnsDuring(work: () => Promise<unknown>): Promise<number> {
  let turns = 0;
  let next = setImmediate(function turn() {
    turns++;
    next = setImmediate(turn);
  });
  await work();
  clearImmediate(next);
  return turns;
}

it("a start state of a large size is made while the event loop turns", async () => {
  const model = await openLiveModel(TINY_LIVE);
  const size = { width: 512, height: 512 };
  let context: Float32Array = new Float32Array(0);
  const turns = await turnsDuring(async () => {
    context = await startContext(model, undefined, size);
  });
  expect(context.length).toBe(512 * 512 * 3 * model.info.contextFrames);
  // Four pictures are scaled and put together, in slices of half a millisecond.
  expect(turns).toBeGreaterThan(30);
  expect([...lookOf.inPieces(context, size)].length).toBeGreaterThan(30);
});
