import { allocateBuffer } from "@vd/kernels-native";
import { describe, expect, test } from "vitest";
import { makeStorage, packedTensor } from "../../src/graph";
import {
  fromFloat8Array,
  quantizeUpsamplingWeight,
  quantizeWeight,
  type ScaledPart,
  type Tensor,
  toFloat16Array,
} from "../../src/index";
import { CpuGenerator } from "../../src/random/cpu-generator";

/** A weight in memory as files have it, with numbers before its own. */
function weightOf(dims: number[], dtype: "f32" | "f16", seed: number): Tensor {
  const count = dims.reduce((product, size) => product * size, 1);
  const numbers = new CpuGenerator(seed).randn(count + 3);
  const stored = dtype === "f16" ? toFloat16Array(numbers) : numbers;
  const buffer = allocateBuffer(stored.byteLength);
  buffer.writeSync(stored);
  const byteOffset = 3 * stored.BYTES_PER_ELEMENT;
  const storage = { ...makeStorage("weights", count, "w"), place: { buffer, byteOffset } };
  return packedTensor(storage, dims, dtype);
}

const bytesOf = ({ storage, dims }: Tensor, size: number) =>
  storage.place!.buffer.readSync(new Uint8Array(size * dims.reduce((product, length) => product * length, 1)));

/** Codes and scales as they are made at once, and off the event loop. */
async function madeBothWays(make: () => { weight: Tensor; weightScale: Tensor }) {
  const [atOnce, beside] = [make(), make()];
  await beside.weight.storage.fill!();
  return [atOnce, beside].map(({ weight, weightScale }) => ({
    codes: Buffer.from(bytesOf(weight, 1)),
    scales: Buffer.from(bytesOf(weightScale, 4)),
  }));
}

describe.each(["f8e4m3", "i8"] as const)("in %s", (dtype) => {
  test.each<[string, number[], { per?: ScaledPart; change?: (numbers: Float32Array, row: number) => void }]>([
    ["rows", [5, 300], {}],
    ["one row", [1, 7], {}],
    ["filters", [6, 5, 1, 3, 3], {}],
    ["blocks", [5, 300], { per: "block" }],
    ["blocks of short rows", [5, 100], { per: "block" }],
    ["all rows with one scale", [5, 300], { per: "tensor" }],
    ["the same, changed", [5, 40], { per: "tensor", change: (numbers, row) => numbers.fill(row, 3, 9) }],
    ["the same, more than is rounded at a time", [67, 70_000], { per: "tensor" }],
    ["changed rows", [5, 40], { change: (numbers, row) => numbers.set(numbers.map((value, i) => value * (row + i))) }],
    ["more than is rounded at a time, the last rows twice", [67, 70_000], {}],
  ])("%s are the same bits at once and on all threads", async (_, dims, options) => {
    for (const stored of ["f32", "f16"] as const) {
      const weight = weightOf(dims, stored, 11);
      const [atOnce, beside] = await madeBothWays(() => quantizeWeight(weight, { dtype, ...options }));
      expect(beside!.codes.equals(atOnce!.codes)).toBe(true);
      expect(beside!.scales.equals(atOnce!.scales)).toBe(true);
      expect(new Set(beside!.codes.subarray(0, 1000)).size).toBeGreaterThan(1);
    }
  });

  test("filters that upsample are, too", async () => {
    const weight = weightOf([6, 5, 1, 3, 3], "f16", 12);
    const [atOnce, beside] = await madeBothWays(() => quantizeUpsamplingWeight(weight, { dtype }));
    expect(beside).toEqual(atOnce);
  });
});

test("all rows share the scale of the largest number of a weight", () => {
  const weight = weightOf([4, 50], "f32", 14);
  const { weight: codes, weightScale } = quantizeWeight(weight, { per: "tensor" });
  expect(weightScale.dims).toEqual([1, 1]);
  const numbers = new CpuGenerator(14).randn(203).subarray(3);
  const largest = numbers.reduce((most, value) => Math.max(most, Math.abs(value)), 0);
  const scale = new Float32Array(bytesOf(weightScale, 4).buffer)[0]!;
  expect(scale).toBe(Math.fround(largest / 448));
  const decoded = fromFloat8Array(bytesOf(codes, 1));
  // Half of a step of three bits, where numbers have their full precision.
  for (const [i, value] of numbers.entries())
    expect(Math.abs(decoded[i]! * scale - value)).toBeLessThan(Math.abs(value) / 15 + scale / 64);
});

test("a weight that is asked for twice at a time is made once", async () => {
  const { weight, weightScale } = quantizeWeight(weightOf([5, 300], "f32", 13));
  await Promise.all([weight.storage.fill!(), weightScale.storage.fill!()]);
  const { buffer } = weight.storage.place!;
  await weight.storage.fill!();
  expect(weight.storage.place!.buffer).toBe(buffer);
});
