import { openDevice } from "@vd/kernels-native";
import { elementwise, layoutGraph, Plan } from "@vd/tensor";
import { expect, test } from "vitest";
import {
  codeOfNumber,
  codesOfLevels,
  HALF,
  numberOfCode,
  numbersOfLevels,
  recordLevels,
} from "../../src/model/picture-levels";

const LEVELS = Uint8Array.from({ length: 768 }, (_, i) => (i * 37 + (i >> 8)) % 256);
const device = openDevice("cpu", { threads: 1 });

test("codes are levels − 128, whatever the count", () => {
  for (const count of [768, 9, 3]) {
    const codes = codesOfLevels(LEVELS.subarray(0, count), new Int8Array(count));
    expect([...codes]).toEqual([...LEVELS.subarray(0, count)].map((level) => level - 128));
    expect([...codes].map((code) => codeOfNumber(numberOfCode(code)))).toEqual([...codes]);
  }
});

test.each([
  [16, 16],
  [1, 3],
])("a picture of codes, %i x %i, becomes the numbers of its levels in every bit", async (height, width) => {
  const count = height * width * 3;
  const levels = LEVELS.subarray(0, count);
  const layout = layoutGraph((g) => {
    const halves = recordLevels(g, g.input("codes", [1, 1, height, width, 3], "i8"));
    g.output(
      "numbers",
      elementwise(g, (e) => e.div(halves, HALF)),
    );
  });
  const plan = await Plan.load(device, layout);
  plan.writeSync("codes", codesOfLevels(levels, new Int8Array(count)));
  await plan.run();
  expect(plan.readSync("numbers")).toEqual(numbersOfLevels(levels, new Float32Array(count)));
  expect(numbersOfLevels(Uint8Array.of(0, 255, 51), new Float32Array(3))).toEqual(
    Float32Array.of(-1, 1, 51 / 127.5 - 1),
  );
  await plan.free();
});
