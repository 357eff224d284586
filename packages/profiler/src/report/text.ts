import { formatBytes, formatFlopRate, formatNumber, formatUs } from "./format";
import { withStepsTogether } from "./merge";
import { requireReport } from "./require-report";
import type { KernelSummary, ProfileReport, Rates, ReportNode, Times } from "./types";

/** Deeper levels are in the other formats. */
const MAX_DEPTH = 8;
/** Nodes with a smaller part of the wall time in all are left out. */
const LEAST_PERCENT = 0.2;
const NUM_ROWS = 20;

/** Columns with the first to the left and the others to the right. */
function table(head: readonly string[], body: readonly (readonly string[])[]): string {
  const widths = head.map((title, i) => Math.max(title.length, ...body.map((cells) => cells[i]!.length)));
  const line = (cells: readonly string[]) =>
    cells
      .map((cell, i) => (i === 0 ? cell.padEnd(widths[i]!) : cell.padStart(widths[i]!)))
      .join("  ")
      .trimEnd();
  return [line(head), widths.map((width) => "-".repeat(width)).join("  "), ...body.map(line)].join("\n");
}

const HEAD = ["count", "total", "self", "self %", "GB/s", "TFLOP/s", "roof %"];

function cells({ count, totalUs, selfUs, sharePercent, gigabytesPerS, teraflopPerS, rooflinePercent }: Times & Rates) {
  return [
    String(count),
    formatUs(totalUs),
    formatUs(selfUs),
    sharePercent.toFixed(2),
    ...[gigabytesPerS, teraflopPerS, rooflinePercent].map(formatNumber),
  ];
}

function nodeLines(nodes: readonly ReportNode[], depth: number, leastUs: number): string[][] {
  if (depth >= MAX_DEPTH) return [];
  return nodes
    .filter(({ totalUs, numFailed }) => totalUs >= leastUs || numFailed > 0)
    .flatMap((node) => {
      const mark = node.numFailed > 0 ? ` (failed: ${node.error})` : "";
      const memory = node.peakBytes === undefined ? "" : formatBytes(node.peakBytes);
      const line = [`${"  ".repeat(depth)}${node.name}${mark}`, ...cells(node), memory];
      return [line, ...nodeLines(node.children, depth + 1, leastUs)];
    });
}

function headLines(report: ProfileReport): string[] {
  const { wallUs, outsideUs, outsidePercent, ceilings, devices, peakBytes } = report;
  const lines = [
    `wall time ${formatUs(wallUs)}, outside every scope ${formatUs(outsideUs)} (${outsidePercent.toFixed(2)} %)`,
    `device    ${devices.join("; ") || "none"}, planned memory at most ${formatBytes(peakBytes)}`,
  ];
  if (!ceilings) return lines;
  const rates = Object.entries(ceilings.teraflopPerS).map(([dtype, rate]) => `${formatFlopRate(rate * 1e6)} ${dtype}`);
  return [...lines, `ceilings  ${formatNumber(ceilings.gigabytesPerS)} GB/s, ${rates.join(", ")}; ${ceilings.source}`];
}

function kernelTable(kernels: readonly KernelSummary[]): string {
  const body = kernels.map(({ name, count, totalUs, sharePercent }) => {
    return [name, String(count), formatUs(totalUs), formatUs(totalUs / count), sharePercent.toFixed(2)];
  });
  return table(["kernel", "count", "total", "each", "wall %"], body);
}

/** The report as a table for people: bottlenecks, scopes with blocks and rows, ops, the longest rows. */
export function textReport(report: ProfileReport): string {
  requireReport("textReport", report);
  const { bottlenecks, scopes, ops, rows, kernels, wallUs, notes } = report;
  const worst = bottlenecks.map(
    ({ title, selfUs, sharePercent, finding, advice }, i) =>
      `${i + 1}. ${title}: ${formatUs(selfUs)}, ${sharePercent.toFixed(1)} %\n   ${finding}\n   ${advice}`,
  );
  const longest = rows.slice(0, NUM_ROWS).map((row) => [`${row.plan}: ${row.name}`, row.op, row.shape, ...cells(row)]);
  const sections = [
    headLines(report).join("\n"),
    `Where the time goes\n\n${worst.join("\n") || "Nothing was recorded."}`,
    `Scopes (those of ${LEAST_PERCENT} % and more)\n\n${table(["scope", ...HEAD, "peak"], nodeLines(withStepsTogether(scopes), 0, (wallUs * LEAST_PERCENT) / 100))}`,
    `Ops\n\n${table(
      ["op", ...HEAD],
      ops.map((op) => [op.op, ...cells(op)]),
    )}`,
    `The longest rows\n\n${table(["row", "op", "result", ...HEAD], longest)}`,
    ...(kernels.length > 0 ? [`Kernels\n\n${kernelTable(kernels)}`] : []),
    notes.join("\n"),
  ];
  return `${sections.join("\n\n")}\n`;
}
