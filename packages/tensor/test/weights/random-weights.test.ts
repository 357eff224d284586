import { expect, test } from "vitest";
import { fromFloat16Array, randomWeights } from "../../src/index";

function valuesOf(name: string, dims: number[], seed = 0): Float32Array {
  const { storage } = randomWeights(seed).at("layer").tensor(name, dims);
  const { buffer } = storage.place!;
  return fromFloat16Array(new Uint16Array(buffer.readSync(new Uint8Array(storage.bytes)).buffer));
}

const deviation = (values: Float32Array) => Math.sqrt(values.reduce((sum, x) => sum + x * x, 0) / values.length);

test("have the size of trained layers, and are the same for the same seed", () => {
  const weight = valuesOf("weight", [300, 256]);
  expect(weight).toHaveLength(300 * 256);
  expect(deviation(weight)).toBeCloseTo(1 / 16, 3);
  expect(weight).toEqual(valuesOf("weight", [300, 256]));
  expect(weight).not.toEqual(valuesOf("weight", [300, 256], 1));
  const scale = valuesOf("norm.weight", [4096]);
  expect(scale.reduce((sum, x) => sum + x, 0) / scale.length).toBeCloseTo(1, 1);
});

test("one name is one weight, filled off the event loop as at once", async () => {
  const weights = randomWeights(0);
  const [a, b] = [weights.tensor("w", [70_000, 2]), weights.tensor("w", [70_000, 2])];
  expect(a.storage).toBe(b.storage);
  const other = randomWeights(0).tensor("w", [70_000, 2]);
  await other.storage.fill!();
  const read = ({ storage }: typeof a) => storage.place!.buffer.readSync(new Uint8Array(storage.bytes));
  expect(read(other)).toEqual(read(a));
});
