import type { Plan } from "@vd/tensor";
import { expect, test } from "vitest";
import { timeCalls } from "../../src/bench/network-bench";

const MS = 2;
/** Calls that are made before those that are timed. */
const WARM = 5;

/** Plans that tell how many run at once. */
function fakePlans(count: number, fails = Number.POSITIVE_INFINITY) {
  const seen = { runs: 0, under: 0, most: 0 };
  const make = () => {
    let isRunning = false;
    return {
      async run() {
        if (isRunning) throw new Error("one run of a plan at a time");
        isRunning = true;
        seen.most = Math.max(seen.most, ++seen.under);
        await new Promise((resolve) => setTimeout(resolve, MS));
        seen.under--;
        isRunning = false;
        if (++seen.runs === fails) throw new Error("the device is lost");
      },
    } as unknown as Plan;
  };
  return { plans: Array.from({ length: count }, make), seen };
}

test.each([1, 2, 3])("%i calls at once, each by a plan of its own", async (count) => {
  const { plans, seen } = fakePlans(count);
  const { fps, frameMs } = await timeCalls(plans, 20, new AbortController().signal);
  expect(seen).toEqual({ runs: WARM + 20, under: 0, most: count });
  expect(frameMs.p50).toBeGreaterThan(MS / 2);
  expect(fps).toBeGreaterThan(0);
});

test("a call that fails ends the others before it is told", async () => {
  const { plans, seen } = fakePlans(3, 8);
  await expect(timeCalls(plans, 20, new AbortController().signal)).rejects.toThrow("the device is lost");
  expect(seen.under).toBe(0);
});

test("stops at the signal", async () => {
  const { plans } = fakePlans(1);
  await expect(timeCalls(plans, 20, AbortSignal.abort())).rejects.toThrow(/abort/i);
});
