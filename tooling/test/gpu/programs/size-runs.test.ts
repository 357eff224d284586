import { expect, test } from "vitest";
import { joinSizeRuns } from "../../../gpu/programs/size-runs";

const run = (totalMs: number, usedBytes: number | undefined, same?: boolean) => ({
  ...{ name: `run of ${totalMs}`, totalMs, usedBytes, eventLoopWorstMs: totalMs / 100 },
  ...(same === undefined ? {} : { same }),
});

test("a size has the median run's figures, the most memory and the longest turn", () => {
  const joined = joinSizeRuns([run(900, 10), run(500, 30), run(600, 20)]);
  expect(joined).toEqual({
    ...{ name: "run of 600", totalMs: 600, samplesMs: [900, 500, 600], usedBytes: 30, eventLoopWorstMs: 9 },
  });
  expect(joinSizeRuns([run(1, undefined)]).usedBytes).toBeUndefined();
});

test("frames are the same only if those of every run are", () => {
  expect(joinSizeRuns([run(1, 1, true), run(2, 1, true), run(3, 1, true)]).same).toBe(true);
  expect(joinSizeRuns([run(1, 1, true), run(2, 1, true), run(3, 1, false)]).same).toBe(false);
  expect(() => joinSizeRuns([])).toThrow(RangeError);
});
