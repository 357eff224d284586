import { expect, test } from "vitest";
import { roundToE4m3, roundToInt8 } from "../../contract/reference";

test("numbers beyond float8's end, infinities too, become its largest; NaN stays", () => {
  for (const v of [448, 463, 465, 1e30, Number.POSITIVE_INFINITY]) {
    expect(roundToE4m3(v)).toBe(448);
    expect(roundToE4m3(-v)).toBe(-448);
  }
  expect(roundToE4m3(Number.NaN)).toBeNaN();
  // The end's last step is 32 wide; half of it is a tie, to even.
  expect([431, 432, 433, 416, 447].map(roundToE4m3)).toEqual([416, 448, 448, 416, 448]);
});

test("numbers beyond 8-bit integers become their ends; NaN is 0", () => {
  expect([127.5, 1e30, Number.POSITIVE_INFINITY, -128, Number.NaN].map(roundToInt8)).toEqual([127, 127, 127, -127, 0]);
});
