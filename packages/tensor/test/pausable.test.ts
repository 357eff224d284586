import { VdError } from "@vd/kernels-native";
import { expect, test } from "vitest";
import { ownTurn, type Pausable, pausable, runAtOnce, runInSlices } from "../src/pausable";

function* count(pieces: number, onPiece: () => void = () => {}): Pausable<number> {
  for (let i = 0; i < pieces; i++) {
    onPiece();
    yield;
  }
  return pieces;
}

test("both ways give the result, whatever the slices", async () => {
  expect(runAtOnce(count(5))).toBe(5);
  expect(await runInSlices(count(5), { sliceUs: 0 })).toBe(5);
});

test("the event loop turns between slices", async () => {
  let turns = 0;
  const turn = () => {
    turns++;
    handle = setImmediate(turn);
  };
  let handle = setImmediate(turn);
  await runInSlices(count(50), { sliceUs: 0 });
  clearImmediate(handle);
  expect(turns).toBeGreaterThanOrEqual(49);
});

test("works beside each other take turns, so that their slices do not add up", async () => {
  const order: string[] = [];
  let turn = 0;
  const count = (name: string) =>
    runInSlices(
      (function* () {
        for (let i = 0; i < 5; i++) {
          order.push(`${name}${turn}`);
          yield;
        }
      })(),
      { sliceUs: 0 },
    );
  const tick = () => {
    turn++;
    handle = setImmediate(tick);
  };
  let handle = setImmediate(tick);
  await Promise.all([count("a"), count("b"), ownTurn()]);
  clearImmediate(handle);
  const turns = order.map((text) => text.slice(1));
  expect(new Set(turns).size).toBe(order.length);
  expect(order.filter((text) => text.startsWith("a"))).toHaveLength(5);
});

test("a pausable function runs at once when it is called, and piece by piece on request", async () => {
  let pieces = 0;
  const counted = pausable((numPieces: number) => count(numPieces, () => pieces++));
  expect(counted(4)).toBe(4);
  expect(pieces).toBe(4);
  const work = counted.inPieces(3);
  expect(pieces).toBe(4); // Nothing runs before the first piece is asked for.
  work.next();
  expect(pieces).toBe(5);
  expect(await runInSlices(work)).toBe(3);
});

test("an abort stops the work with `cancelled`", async () => {
  const controller = new AbortController();
  let pieces = 0;
  const work = count(1_000, () => {
    if (++pieces === 3) controller.abort();
  });
  const error = await runInSlices(work, { sliceUs: 0, signal: controller.signal, where: "sum" }).catch(
    (reason) => reason,
  );
  expect(error).toBeInstanceOf(VdError);
  expect(error).toMatchObject({ code: "cancelled", message: "[sum] expected to run to its end, got an abort" });
  expect(pieces).toBe(3);
});

test("work that is stopped lets go of what it holds", async () => {
  const controller = new AbortController();
  let isOpen = true;
  const work = (function* (): Pausable<void> {
    try {
      controller.abort();
      yield;
      yield;
    } finally {
      isOpen = false;
    }
  })();
  await expect(runInSlices(work, { signal: controller.signal, sliceUs: 0 })).rejects.toMatchObject({
    code: "cancelled",
  });
  expect(isOpen).toBe(false);
});
