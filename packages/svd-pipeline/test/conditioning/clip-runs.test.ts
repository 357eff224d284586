import { blurredRuns, cubicTaps, gaussianKernel } from "@vd/media";
import { expect, test } from "vitest";
import { clipRuns } from "../../src/conditioning/clip-runs";

const fresh = (sourceSize: number, size: number) =>
  blurredRuns(gaussianKernel(sourceSize, size), cubicTaps(sourceSize, size), sourceSize);

test("runs are those of the sizes, and remembered for the next picture of them", async () => {
  const picture = { width: 61, height: 47 };
  const runs = await clipRuns(picture, 16, {});
  expect(runs).toEqual({ x: fresh(61, 16), y: fresh(47, 16) });
  const again = await clipRuns(picture, 16, {});
  expect(again.x).toBe(runs.x);
  expect(again.y).toBe(runs.y);
  expect(await clipRuns(picture, 17, {})).toEqual({ x: fresh(61, 17), y: fresh(47, 17) });
});

test("the sizes that were wanted last are remembered, others forgotten", async () => {
  const wanted = { width: 30, height: 31 };
  const runs = await clipRuns(wanted, 8, {});
  for (const side of [40, 42, 44, 46]) {
    await clipRuns({ width: side, height: side + 1 }, 8, {});
    expect((await clipRuns(wanted, 8, {})).x).toBe(runs.x);
  }
  for (const side of [50, 52, 54, 56]) await clipRuns({ width: side, height: side + 1 }, 8, {});
  const later = await clipRuns(wanted, 8, {});
  expect(later.x).not.toBe(runs.x);
  expect(later).toEqual(runs);
});

test("a signal ends what is not remembered", async () => {
  const work = { signal: AbortSignal.abort(), where: "generation" };
  const refused = clipRuns({ width: 71, height: 73 }, 8, work);
  await expect(refused).rejects.toMatchObject({ code: "cancelled", where: "generation" });
});
