import { totalmem } from "node:os";
import { type Device, openDevice } from "@vd/kernels-native";
import { expect, it, vi } from "vitest";
import { availableBytes, spareBytes, usableBytes } from "../../src/decoding/usable-memory";

const GIB = 2 ** 30;

/** A GPU with as much free memory, and as much that this process holds already. */
const gpu = (freeBytes: number, residentBytes: number) =>
  ({ kind: "cuda", memory: async () => ({ freeBytes, residentBytes }) }) as unknown as Device;

it("the memory of this process is that of the machine or less", () => {
  expect(availableBytes()).toBeGreaterThan(2 ** 28);
  expect(availableBytes()).toBeLessThanOrEqual(totalmem());
});

it("the CPU may use 70 % of it", async () => {
  expect(await usableBytes(openDevice("cpu"), "full")).toBeCloseTo(0.7 * availableBytes(), 0);
});

it("work that begins on the CPU takes no more than 90 % of what the machine has left", async () => {
  const left = vi.spyOn(process, "availableMemory").mockReturnValue(2 ** 20);
  try {
    expect(await spareBytes(openDevice("cpu"), "full")).toBeCloseTo(0.9 * 2 ** 20, 0);
    left.mockReturnValue(Number.MAX_SAFE_INTEGER);
    const least = Math.min(0.7, 0.9) * availableBytes();
    expect(await spareBytes(openDevice("cpu"), "full")).toBeCloseTo(least, 0);
    expect(await spareBytes(gpu(3 * GIB, GIB), "full")).toBeCloseTo(0.97 * 4 * GIB, 0);
  } finally {
    left.mockRestore();
  }
});

it("a GPU may be used up to 97 % of what is free or held already, and of 10 GiB, of 6 GiB with little memory, and of 3.9 with the least", async () => {
  expect(await usableBytes(gpu(3 * GIB, GIB), "full")).toBeCloseTo(0.97 * 4 * GIB, 0);
  expect(await usableBytes(gpu(80 * GIB, 0), "full")).toBeCloseTo(0.97 * 10 * GIB, 0);
  expect(await usableBytes(gpu(80 * GIB, 0), "low")).toBeCloseTo(0.97 * 6 * GIB, 0);
  expect(await usableBytes(gpu(80 * GIB, 0), "lowest")).toBeCloseTo(0.97 * 3.9 * GIB, 0);
});
