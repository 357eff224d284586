import { Device } from "@vd/kernels-native";
import { layoutGraph, Plan } from "@vd/tensor";
import fc from "fast-check";
import { expect, test } from "vitest";
import { launchesOf, noteRuns, watchRuns } from "../../../measure/profiling/ran";
import { exceeds, summarizePairs } from "../../../measure/profiling/ratios";

async function smallPlan(): Promise<Plan> {
  const layout = layoutGraph((g) => {
    const x = g.input("x", [1, 1, 4, 8]);
    g.output("y", g.copy({ x: g.copy({ x }) }));
  });
  return Plan.load(Device.cpu({ threads: 1 }), layout);
}

test("the ratio is the pairs' median, so that a drift that meets both does not count", () => {
  const off = [100, 110, 120, 130, 140];
  const on = off.map((ms) => ms * 1.01);
  const { ratio, offMs, onMs, lowerQuartile, upperQuartile, numPairs } = summarizePairs(off, on);
  expect(ratio).toBeCloseTo(1.01, 12);
  expect([offMs, onMs]).toEqual([120, 120 * 1.01]);
  expect(upperQuartile - lowerQuartile).toBeLessThan(1e-12);
  expect(numPairs).toBe(5);
  expect(() => summarizePairs([], [])).toThrow(RangeError);
  expect(() => summarizePairs([1], [1, 2])).toThrow(/1 times beside 2/);
});

test("the ratio lies between its quartiles, and one pair in five that is far off does not move it far", () => {
  const times = fc.array(fc.double({ min: 50, max: 60, noNaN: true }), { minLength: 5, maxLength: 20 });
  fc.assert(
    fc.property(times, (off) => {
      const on = off.map((ms, i) => (i % 5 === 4 ? ms * 3 : ms * 1.02));
      const { ratio, lowerQuartile, upperQuartile } = summarizePairs(off, on);
      expect(lowerQuartile).toBeLessThanOrEqual(ratio);
      expect(ratio).toBeLessThanOrEqual(upperQuartile);
      expect(ratio).toBeCloseTo(1.02, 9);
    }),
  );
});

test("the verdict is the median's, and a few pairs give none", () => {
  const off = Array.from({ length: 9 }, () => 100);
  const slower = (numSlow: number) =>
    summarizePairs(
      off,
      off.map((ms, i) => (i < numSlow ? 2 * ms : ms)),
    );
  expect(exceeds(slower(4), 1.05)).toBe(false);
  expect(exceeds(slower(5), 1.05)).toBe(true);
  expect(() => exceeds(summarizePairs([100, 100], [300, 300]), 1.05)).toThrow(/9 pairs or more for a verdict, got 2/);
});

test("what ran is noted from the runs themselves, and nothing stays behind", async () => {
  const [often, once] = [await smallPlan(), await smallPlan()];
  const ran = await noteRuns(async () => {
    await often.run();
    await often.run({ timing: true });
    await once.run();
  });
  expect(ran).toEqual({ numReplayed: 0, numLaunched: 2, numTimed: 1, numRows: 2, numLaunches: 0 });
  await expect(noteRuns(async () => {})).rejects.toThrow("nothing ran");
  let heard = 0;
  const listen = watchRuns(
    async (program, run) => {
      heard++;
      expect(launchesOf(program)).toBe(0);
      return run();
    },
    async () => {
      await often.run();
      throw new Error("broken");
    },
  );
  await expect(listen).rejects.toThrow("broken");
  await often.run();
  expect(heard).toBe(1);
  often.freeSync();
  once.freeSync();
});
