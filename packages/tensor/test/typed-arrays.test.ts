import { runInNewContext } from "node:vm";
import { expect, test } from "vitest";
import {
  fromBfloat16Array,
  fromFloat8Array,
  fromFloat16Array,
  roundToBfloat16InPlace,
  roundToFloat16InPlace,
  toBfloat16Array,
  toFloat8Array,
  toFloat16Array,
} from "../src/index";

const OF_FLOATS = { toFloat16Array, toBfloat16Array, toFloat8Array, roundToFloat16InPlace, roundToBfloat16InPlace };
const OF_CODES = { fromFloat16Array, fromBfloat16Array, fromFloat8Array };

// A Float64Array's bits would be read as twice as many numbers, a Uint16Array's as half as many.
test.each([
  [new Float64Array(2), "got Float64Array"],
  [new Uint16Array(4), "got Uint16Array"],
  [[1, 2], "got Array"],
  [undefined, "got undefined"],
  [null, "got null"],
])("conversions of floats refuse %o", (values, got) => {
  for (const [name, convert] of Object.entries(OF_FLOATS)) {
    const call = () => convert(values as unknown as Float32Array);
    expect(call, name).toThrow(expect.objectContaining({ name: "VdError", code: "dtype" }));
    expect(call, name).toThrow(`[${name}] expected a Float32Array, ${got}`);
  }
});

test.each([[new Float32Array(2)], [[1, 2]], [undefined]])("conversions of codes refuse %o", (codes) => {
  for (const [name, convert] of Object.entries(OF_CODES)) {
    const call = () => (convert as (codes: unknown) => Float32Array)(codes);
    expect(call, name).toThrow(expect.objectContaining({ name: "VdError", code: "dtype" }));
  }
});

test("take arrays of another realm", () => {
  expect(toFloat16Array(runInNewContext("Float32Array.of(1)"))).toEqual(Uint16Array.of(0x3c00));
  expect(fromFloat8Array(Buffer.of(0x38))).toEqual(Float32Array.of(1));
});
