import { setTimeout } from "node:timers/promises";
import type { Device } from "@vd/kernels-native";
import { expect, it } from "vitest";
import { MemoryWatch } from "../../src/measure/memory-watch";

/** A GPU whose memory is asked for in 20 ms, longer than the pause between two looks. */
function slowDevice() {
  const asked = { numTimes: 0 };
  const memory = async () => {
    const freeBytes = 1000 - 10 * asked.numTimes++;
    await setTimeout(20);
    return { freeBytes, totalBytes: 1000 };
  };
  return { asked, device: { kind: "cuda", prepare: async () => {}, memory } as unknown as Device };
}

it("sees the most that was in use and looks no more once the work is done", { retry: 2 }, async () => {
  const { asked, device } = slowDevice();
  const watch = await MemoryWatch.start(device);
  // Ends while a look is under way, which would have armed the next one.
  expect(await watch.during(() => setTimeout(75, "done"))).toBe("done");
  const { numTimes } = asked;
  expect(numTimes).toBeGreaterThan(1);
  expect(watch.peakBytes).toBe(10 * (numTimes - 1));
  await setTimeout(100);
  expect(asked.numTimes).toBe(numTimes);
});

it("passes on what the work throws, and stops looking", async () => {
  const { asked, device } = slowDevice();
  const watch = await MemoryWatch.start(device);
  await expect(watch.during(() => Promise.reject(new Error("out of paper")))).rejects.toThrow("out of paper");
  const { numTimes } = asked;
  await setTimeout(50);
  expect(asked.numTimes).toBe(numTimes);
});
