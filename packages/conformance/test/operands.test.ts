import { expect, test } from "vitest";
import { numbers, PlacedTensor } from "../src/operands";

test("numbers follow from their label and their kind", () => {
  expect(numbers("a", 4)).toEqual(numbers("a", 4));
  expect(numbers("a", 4)).not.toEqual(numbers("b", 4));
  expect([...numbers("a", 5, { values: [1, 2] })]).toEqual([1, 2, 1, 2, 1]);
  const flags = [...numbers("mask", 64, "flags", 8)];
  expect(flags.every((flag) => flag === 0 || flag === 1)).toBe(true);
  expect(flags.filter((_, i) => i % 8 === 0)).toEqual(Array.from({ length: 8 }, () => 1));
});

test("elements come back, and bytes that changed around and between them are counted", () => {
  const placed = new PlacedTensor("x", { dims: [1, 1, 2, 3], dtype: "f16", gap: 2 }, false);
  placed.write(Float32Array.of(1, 2, 3, 4, 5, 6));
  expect(placed.untouched()).toBe(true);
  expect([...placed.read().values]).toEqual([1, 2, 3, 4, 5, 6]);
  expect(placed.read().spoiledBytes).toBe(0);
  const { byteOffset } = placed.tensor;
  placed.buffer.writeSync(Uint8Array.of(0, 0), byteOffset + 3 * 2);
  placed.buffer.writeSync(Uint8Array.of(0), byteOffset - 1);
  expect(placed.read().spoiledBytes).toBe(3);
  expect(placed.untouched()).toBe(false);
  placed.free();
});
