import { expect, it } from "vitest";
import { inBinaryUnits } from "../src/binary-units";

it("bytes are told in a unit in which they are no zero", () => {
  expect([1, 1.5, 1_023, 2 ** 10, 100_000, 2 ** 20, 2 ** 27, 2.5 * 2 ** 30].map(inBinaryUnits)).toEqual([
    ...["1 byte", "2 bytes", "1023 bytes", "1.00 KiB", "97.66 KiB", "1.00 MiB", "0.13 GiB", "2.50 GiB"],
  ]);
});
