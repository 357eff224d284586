import { escapeHtml } from "../charts/figure";
import { formatBytes, formatNumber, formatUs } from "../report/format";
import { withStepsTogether } from "../report/merge";
import type { ProfileReport, Rates, ReportNode, Times } from "../report/types";

/** Nodes with a smaller part of the wall time in all are left to the JSON report. */
const LEAST_PERCENT = 0.1;
const MAX_NODES = 1500;
const NUM_ROWS = 40;

const HEAD = ["count", "total", "self", "self %", "GB/s", "TFLOP/s", "roof %"];

function numberCells({ count, totalUs, selfUs, sharePercent, ...rates }: Times & Rates): string {
  const { gigabytesPerS, teraflopPerS, rooflinePercent } = rates;
  const texts = [count, formatUs(totalUs), formatUs(selfUs), sharePercent.toFixed(2)];
  const all = [...texts, ...[gigabytesPerS, teraflopPerS, rooflinePercent].map(formatNumber)];
  return all.map((text) => `<td>${text}</td>`).join("");
}

function table(head: readonly string[], rows: readonly string[]): string {
  const titles = head.map((title) => `<th>${title}</th>`).join("");
  return `<div class="scroll"><table><thead><tr>${titles}</tr></thead><tbody>${rows.join("")}</tbody></table></div>`;
}

function nodeRows(nodes: readonly ReportNode[], depth: number, leastUs: number): string[] {
  return nodes
    .filter(({ totalUs, numFailed }) => totalUs >= leastUs || numFailed > 0)
    .flatMap((node) => {
      const failed = node.numFailed > 0 ? ` <span class="failed">failed: ${escapeHtml(node.error ?? "")}</span>` : "";
      const name = `<td style="padding-left:${8 + 14 * depth}px">${escapeHtml(node.name)}${failed}</td>`;
      const memory = `<td>${node.peakBytes === undefined ? "" : formatBytes(node.peakBytes)}</td>`;
      return [`<tr>${name}${numberCells(node)}${memory}</tr>`, ...nodeRows(node.children, depth + 1, leastUs)];
    });
}

/** Scopes with their blocks and rows, as far as they matter. */
export function scopeTable({ scopes, wallUs }: ProfileReport): string {
  const rows = nodeRows(withStepsTogether(scopes), 0, (wallUs * LEAST_PERCENT) / 100);
  return table(["scope", ...HEAD, "peak"], rows.slice(0, MAX_NODES));
}

/** Time by op. */
export function opTable({ ops }: ProfileReport): string {
  return table(
    ["op", ...HEAD],
    ops.map((op) => `<tr><td>${escapeHtml(op.op)}</td>${numberCells(op)}</tr>`),
  );
}

/** Single kernels, if they were recorded. */
export function kernelTable({ kernels }: ProfileReport): string {
  const rows = kernels.map(({ name, count, totalUs, sharePercent }) => {
    const cells = [count, formatUs(totalUs), formatUs(totalUs / count), sharePercent.toFixed(2)];
    return `<tr><td class="long">${escapeHtml(name)}</td>${cells.map((text) => `<td>${text}</td>`).join("")}</tr>`;
  });
  return table(["kernel", "count", "total", "each", "wall %"], rows);
}

/** The rows that take the longest. */
export function rowTable({ rows }: ProfileReport): string {
  return table(
    ["row", "op", "result", ...HEAD],
    rows.slice(0, NUM_ROWS).map((row) => {
      const [name, op, shape] = [`${row.plan}: ${row.name}`, row.op, row.shape].map(escapeHtml);
      return `<tr><td class="long">${name}</td><td>${op}</td><td>${shape}</td>${numberCells(row)}</tr>`;
    }),
  );
}
