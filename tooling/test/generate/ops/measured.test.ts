import { expect, test } from "vitest";
import { measuredText, type OpsReport } from "../../../generate/ops/measured";

type BenchFile = OpsReport["file"];
type BenchRow = BenchFile["rows"][number];

const row = (more: Partial<BenchRow>): BenchRow => ({
  ...{ suite: "ops", name: "linear_q8.a", contender: "ours", medianUs: 20, madUs: 1, samplesUs: [20] },
  ...more,
});

function pageOf(rows: BenchRow[]): string {
  const file = {
    ...{ format: "vd-bench", version: 1, command: "ops", createdAt: "2026-01-02T00:00:00Z" },
    ...{ machine: { device: "a card" }, versions: {}, options: { precision: "float16" }, rows, tables: {}, notes: [] },
  } as unknown as BenchFile;
  return measuredText("linear_q8", [{ path: "reports/a.json", file }]).join("\n");
}

test("a report without errors to float64 has no columns for them", () => {
  const page = pageOf([row({})]);
  expect(page).toContain(
    "| case | ms | launches | GB/s | TFLOP/s | of a copy's bandwidth | of the roofline | PyTorch, ms |",
  );
  expect(page).not.toContain("float64");
});

test("a report with errors shows those of the fastest of ours and says what they are", () => {
  const page = pageOf([
    row({ float64Error: 1e-3 }),
    row({ contender: "ours-graph", medianUs: 10, float64Error: 2e-4, unroundedError: 3e-2 }),
    row({ contender: "pytorch", medianUs: 30, float64Error: 5e-4 }),
  ]);
  expect(page).toContain("| of the roofline | error to float64 | error of 8 bits | PyTorch, ms |");
  expect(page).toContain("| 2.00e-4 | 3.00e-2 | 0.0300 (3.00×) |");
  expect(page).toContain("error to float64: relative L2 distance to the same call in float64");
});
