import { expect, test } from "vitest";
import type { BenchRow } from "../../src/measure/report";
import { FLOAT64_LEGEND, rowsTable } from "../../src/measure/table";
import { rowsMarkdown } from "../../src/report/markdown";

const timed: BenchRow = {
  suite: "ops",
  name: "linear_q8.a",
  contender: "ours",
  medianUs: 20,
  madUs: 1,
  samplesUs: [20],
};
const measured = { ...timed, float64Error: 1.25e-4, unroundedError: 0.0312, float64Elements: 512 };
const missing: BenchRow = { suite: "ops", name: "linear_q8.a", contender: "pytorch", reason: "gone" };

test("errors to float64 have columns of their own and a sentence below the table that says what they are", () => {
  const text = rowsTable([measured, missing]);
  const [head, ours, peer] = text.split("\n") as [string, string, string];
  expect(head).toMatch(/ error +error to float64 +error of 8 bits +GiB/);
  expect(ours).toMatch(/ 1\.25e-4 +3\.12e-2$/);
  expect(peer).toMatch(/gone$/);
  expect(text.endsWith(`\n\n${FLOAT64_LEGEND}`)).toBe(true);
  expect(ours.indexOf("1.25e-4") + "1.25e-4".length).toBe(head.indexOf("error to float64") + "error to float64".length);
});

test("one sample has no spread, several have", () => {
  const spreadOf = (row: BenchRow) => / 0\.0200 +(0\.\d+)? +\d/.exec(rowsTable([row]).split("\n")[1]!)?.[1];
  expect(spreadOf({ ...timed, madUs: 0 })).toBeUndefined();
  expect(spreadOf({ ...timed, samplesUs: [19, 20, 21] })).toBe("0.0010");
});

test("a column that no row has is not there, nor the sentence without both", () => {
  const { unroundedError: _, ...own } = measured;
  expect(rowsTable([own])).not.toContain("error of 8 bits ");
  expect(rowsTable([timed])).not.toContain("float64");
});

test("reports in Markdown have the same columns", () => {
  const lines = rowsMarkdown([measured]);
  expect(lines[0]).toContain("| rel. L2 | error to float64 | error of 8 bits | GiB |");
  expect(lines[2]).toContain("1.25e-4 | 3.12e-2");
  expect(lines).toContain(FLOAT64_LEGEND);
  expect(rowsMarkdown([timed]).join("\n")).not.toContain("float64");
});
