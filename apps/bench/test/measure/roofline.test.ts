import { expect, test } from "vitest";
import type { BenchRow } from "../../src/measure/report";
import { rooflineShare } from "../../src/measure/roofline";
import { rowsTable } from "../../src/measure/table";

const RATES = { copyGbPerS: 100, matrixTflopPerS: 2 };
const row = (facts: Partial<BenchRow>): BenchRow => ({ suite: "ops", name: "x", contender: "ours", ...facts });

test("a row reaches a share of the bandwidth, and of what bytes and arithmetic allow together", () => {
  // 1 MB take 10 µs at 100 GB/s; 10 MFLOP take 5 µs, 100 MFLOP 50 µs at 2 TFLOP/s.
  expect(rooflineShare(row({ medianUs: 20, bytes: 1e6, flops: 1e7 }), RATES)).toEqual({
    bandwidth: 0.5,
    roofline: 0.5,
  });
  expect(rooflineShare(row({ medianUs: 100, bytes: 1e6, flops: 1e8 }), RATES)).toEqual({
    bandwidth: 0.1,
    roofline: 0.5,
  });
});

test("a row without a time or without known work reaches none", () => {
  expect(rooflineShare(row({ bytes: 1, flops: 1 }), RATES)).toBeUndefined();
  expect(rooflineShare(row({ medianUs: 1 }), RATES)).toBeUndefined();
});

test("the table has the shares where rates are known", () => {
  const rows = [
    row({ medianUs: 20, madUs: 1, samplesUs: [20], bytes: 1e6, flops: 1e7 }),
    row({ contender: "pytorch", reason: "gone" }),
  ];
  const [head, ours, peer] = rowsTable(rows, RATES).split("\n") as [string, string, string];
  expect(head).toMatch(/GB\/s +bandwidth +roofline +error/);
  expect(ours).toMatch(/ 50 +50 % +50 %/);
  expect(peer).toMatch(/gone$/);
  expect(rowsTable(rows)).not.toContain("roofline");
});
