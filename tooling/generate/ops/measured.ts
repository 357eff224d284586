// Rows of committed benchmark reports, by op.
import { readdirSync, readFileSync } from "node:fs";
import { join, relative } from "node:path";
import type { BenchFile, BenchRow } from "../../../apps/bench/src/measure/report";
import { percent, rooflineShare } from "../../../apps/bench/src/measure/roofline";
import { FLOAT64_LEGEND, float64Cells, float64Heads, formatMs } from "../../../apps/bench/src/measure/table";
import { ROOT } from "../../build/workspace.mjs";

/** A report of `vd-bench ops`. */
export interface OpsReport {
  /** From the root. */
  path: string;
  file: BenchFile;
}

/** Whether a report is of ops as they run, and not of kernels that were forced (`--variants`). */
const isOfOps = ({ format, command, options }: BenchFile) =>
  format === "vd-bench" && command === "ops" && options.variants !== true;

/** The reports of ops in the tree. */
export function opsReports(): OpsReport[] {
  const folder = join(ROOT, "reports");
  return readdirSync(folder, { recursive: true, encoding: "utf8" })
    .filter((name) => name.endsWith(".json"))
    .sort()
    .flatMap((name) => {
      const file = JSON.parse(readFileSync(join(folder, name), "utf8")) as BenchFile;
      const path = relative(ROOT, join(folder, name)).replaceAll("\\", "/");
      return isOfOps(file) ? [{ path, file }] : [];
    });
}

type Timed = BenchRow & { medianUs: number };
const isTimed = (row: BenchRow): row is Timed => row.medianUs !== undefined;
const fastest = (rows: readonly Timed[]) =>
  rows.reduce<Timed | undefined>((a, b) => (a && a.medianUs <= b.medianUs ? a : b), undefined);

/** The cells of a case: the fastest of ours, what it reaches, its errors to float64 where the report has them, the fastest of PyTorch's. */
function cellsOf(same: readonly Timed[], rates: BenchFile["rates"], float64: readonly string[]): string[] | undefined {
  const ours = fastest(same.filter(({ contender }) => contender.startsWith("ours")));
  if (!ours) return undefined;
  const torch = fastest(same.filter(({ contender }) => contender.startsWith("pytorch")));
  const share = rates && rooflineShare(ours, rates);
  const gbPerS = ours.bytes === undefined ? "" : (ours.bytes / ours.medianUs / 1e3).toFixed(0);
  const tflopPerS = ours.flops === undefined ? "" : (ours.flops / ours.medianUs / 1e6).toFixed(2);
  return [
    ...[formatMs(ours.medianUs), ours.launches === undefined ? "" : String(ours.launches), gbPerS, tflopPerS],
    ...(share ? [percent(share.bandwidth), percent(share.roofline)] : ["", ""]),
    ...float64Cells(ours, float64),
    torch ? `${formatMs(torch.medianUs)} (${(torch.medianUs / ours.medianUs).toFixed(2)}×)` : "",
  ];
}

/** Which kernels a report is of, where it says: reports of a few ops stand beside older ones of all. */
function kernelsOf({ machine }: BenchFile): string[] {
  const hash = /kernels ([0-9a-f]{8})/.exec(machine.commit ?? "")?.[1];
  return hash ? [`kernels ${hash}`] : [];
}

/** What reports say of an op, a section of Markdown for each that has rows of it. */
export function measuredText(id: string, reports: readonly OpsReport[]): string[] {
  return reports.flatMap(({ path, file }) => {
    const rows = file.rows.filter(({ suite, name }) => suite === "ops" && name.startsWith(`${id}.`)).filter(isTimed);
    const float64 = float64Heads(rows);
    const names = [...new Set(rows.map(({ name }) => name))];
    const lines = names.flatMap((name) => {
      const cells = cellsOf(
        rows.filter((row) => row.name === name),
        file.rates,
        float64,
      );
      return cells ? [`| ${[name.slice(id.length + 1), ...cells].join(" | ")} |`] : [];
    });
    if (lines.length === 0) return [];
    const reached = ["of a copy's bandwidth", "of the roofline"];
    const heads = ["case", "ms", "launches", "GB/s", "TFLOP/s", ...reached, ...float64, "PyTorch, ms"];
    return [
      `**${file.machine.device}**, ${file.options.precision}, ${[file.createdAt.slice(0, 10), ...kernelsOf(file)].join(", ")}: the fastest of ours, row by row or as a`,
      `graph, and of PyTorch's. From [${path}](../../${path}).`,
      "",
      `| ${heads.join(" | ")} |`,
      `| ${heads.map(() => "---").join(" | ")} |`,
      ...lines,
      "",
      ...(float64.length > 0 ? [FLOAT64_LEGEND, ""] : []),
    ];
  });
}
