import { openDevice } from "@vd/kernels-native";
import { layoutGraph, Plan } from "@vd/tensor";
import { expect, test } from "vitest";
import { levelOfNumber, numbersOfLevels, recordLevels } from "../../src/model/picture-levels";

const LEVELS = Uint8Array.from({ length: 768 }, (_, i) => (i * 37 + (i >> 8)) % 256);
const device = openDevice("cpu", { threads: 1 });

test("numbers go from -1 to 1, and back to their levels", () => {
  const numbers = numbersOfLevels(LEVELS, new Float32Array(LEVELS.length));
  expect(numbersOfLevels(Uint8Array.of(0, 255, 51), new Float32Array(3))).toEqual(
    Float32Array.of(-1, 1, 51 / 127.5 - 1),
  );
  expect(Uint8Array.from(numbers, levelOfNumber)).toEqual(LEVELS);
  expect([-3, 3].map(levelOfNumber)).toEqual([0, 255]);
});

test.each([
  [16, 16],
  [1, 3],
])("a picture's bytes, %i x %i, become the numbers of its levels in every bit", async (height, width) => {
  const count = height * width * 3;
  const levels = LEVELS.subarray(0, count);
  const layout = layoutGraph((g) =>
    g.output("numbers", recordLevels(g, g.input("bytes", [1, 1, height, width, 3], "i8"))),
  );
  const plan = await Plan.load(device, layout);
  plan.writeSync("bytes", new Int8Array(levels.slice().buffer));
  await plan.run();
  expect(plan.readSync("numbers")).toEqual(numbersOfLevels(levels, new Float32Array(count)));
  await plan.free();
});
