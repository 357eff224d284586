import { expect, test } from "vitest";
import { pixelsToPlanes, planesToPixels } from "../src/index";

const dims = [2, 3, 2, 4] as const;
const planes = Float32Array.from({ length: 48 }, (_, i) => i);

test("planes become pixels with the channels last, and planes again", () => {
  const pixels = planesToPixels(planes, dims, new Float32Array(48));
  // Frame 1, row 1, column 2: channels 0, 1, 2 of planes 3, 4, 5.
  const pixel = ((1 * 2 + 1) * 4 + 2) * 3;
  expect([...pixels.subarray(pixel, pixel + 3)]).toEqual([3 * 8 + 6, 4 * 8 + 6, 5 * 8 + 6]);
  expect(pixelsToPlanes(pixels, dims, new Float32Array(48))).toEqual(planes);
});

test("the event loop may turn after each plane", () => {
  let pauses = 0;
  for (const _ of planesToPixels.inPieces(planes, dims, new Float32Array(48))) pauses++;
  expect(pauses).toBe(6);
});
