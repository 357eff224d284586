import { VdError } from "@vd/kernels-native";
import { expect, test } from "vitest";
import { clipPixelValues, clipPixelValuesPausable } from "../../src/conditioning/clip-pixel-values";
import { type Pausable, runAtOnce, runInSlices } from "../../src/conditioning/pausable";
import { noiseImage } from "./golden";

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
  const options = { size: 20, mean: [0, 0, 0], std: [1, 1, 1] };
  const image = noiseImage(90, 50);
  expect(await runInSlices(clipPixelValuesPausable(image, options), { sliceUs: 0 })).toEqual(
    clipPixelValues(image, options),
  );
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

test("an abort stops the work with `cancelled`", async () => {
  const controller = new AbortController();
  let pieces = 0;
  const work = count(1_000, () => {
    if (++pieces === 3) controller.abort();
  });
  const error = await runInSlices(work, { sliceUs: 0, signal: controller.signal }).catch((reason) => reason);
  expect(error).toBeInstanceOf(VdError);
  expect(error.code).toBe("cancelled");
  expect(pieces).toBe(3);
});
