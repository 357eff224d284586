import { describe, expect, test } from "vitest";
import { gridPositions, rotaryTable } from "../../src/nn/index";
import { failure } from "../support/failure";
import { op, random } from "../support/run-module";

const line = (count: number, from = 0) => Float64Array.from({ length: count }, (_, i) => i + from);

describe("the table of one axis", () => {
  test("holds the cosine and sine of position · θ^(−2i/channels)", () => {
    const { data, dims } = rotaryTable([{ positions: line(5), channels: 6, theta: 100 }]);
    expect(dims).toEqual([5, 6]);
    const angle = 3 * 100 ** (-4 / 6);
    expect(data[3 * 6 + 4]).toBeCloseTo(Math.cos(angle), 7);
    expect(data[3 * 6 + 5]).toBeCloseTo(Math.sin(angle), 7);
  });

  test.each(["adjacent", "halves"])("makes scores depend on distances alone, pairs %s", (pairs) => {
    const [q, k, v] = [random("q", [1, 1, 4, 8]), random("k", [1, 1, 6, 8]), random("v", [1, 1, 6, 8])];
    const at = (shift: number) => {
      const [ofQ, ofK] = [4, 6].map((count) => rotaryTable([{ positions: line(count, shift), channels: 8 }]));
      const plain = ({ data, dims }: typeof ofQ & object) => ({ dims, data: Float64Array.from(data) });
      const operands = { q, k, v, rotaryQ: plain(ofQ!), rotaryK: plain(ofK!) };
      return op("attention", operands, { heads: 1, scale: 0.7, pairs }).data;
    };
    const [here, far] = [at(0), at(1000)];
    here.forEach((value, i) => void expect(far[i]).toBeCloseTo(value, 5));
    const unturned = op("attention", { q, k, v }, { heads: 1, scale: 0.7 }).data;
    expect(Math.max(...here.map((value, i) => Math.abs(value - unturned[i]!)))).toBeGreaterThan(0.01);
  });
});

test("axes of a video share a head's channels", () => {
  const [frames, rows, columns] = gridPositions([2, 3, 4]);
  expect([frames[23], rows[23], columns[23]]).toEqual([1, 2, 3]);
  expect([frames[13], rows[13], columns[13]]).toEqual([1, 0, 1]);
  const { data, dims } = rotaryTable([
    { positions: frames, channels: 2 },
    { positions: rows, channels: 4 },
    { positions: columns, channels: 4 },
  ]);
  expect(dims).toEqual([24, 10]);
  const last = [...data.subarray(230)];
  const angles = [1, 2, 2 / 100, 3, 3 / 100];
  angles.forEach((angle, pair) => {
    expect(last[2 * pair]).toBeCloseTo(Math.cos(angle), 6);
    expect(last[2 * pair + 1]).toBeCloseTo(Math.sin(angle), 6);
  });
});

test.each([
  ["no axes", []],
  ["an odd number of channels", [{ positions: line(3), channels: 5 }]],
  [
    "axes of different lengths",
    [
      { positions: line(3), channels: 4 },
      { positions: line(4), channels: 4 },
    ],
  ],
  ["a base of 0", [{ positions: line(3), channels: 4, theta: 0 }]],
] as const)("declines %s", (_, axes) => {
  expect(failure(() => rotaryTable(axes))).toMatchObject({ code: "attr" });
});
