import { CategoryColors } from "../charts/colors";
import { escapeHtml } from "../charts/figure";
import { formatBytes, formatFlopRate, formatNumber, formatUs } from "../report/format";
import type { Timeline } from "../report/timeline";
import type { Bottleneck, ProfileReport } from "../report/types";
import { flameCharts } from "./flame";
import { memoryChart } from "./memory-chart";
import { rooflineChart } from "./roofline";
import { STYLE } from "./style";
import { kernelTable, opTable, rowTable, scopeTable } from "./tables";

function tiles({ wallUs, devices, peakBytes, ceilings, outsidePercent }: ProfileReport): string {
  const facts = [
    [formatUs(wallUs), "wall time"],
    [devices.join("; ") || "none", "device"],
    [formatBytes(peakBytes), "planned memory at most"],
    [`${outsidePercent.toFixed(2)} %`, "outside every scope"],
  ];
  if (ceilings) {
    facts.push([`${formatNumber(ceilings.gigabytesPerS)} GB/s`, "memory ceiling"]);
    for (const [dtype, rate] of Object.entries(ceilings.teraflopPerS))
      facts.push([formatFlopRate(rate * 1e6), `matrix ceiling, ${dtype}`]);
  }
  const all = facts.map(
    ([value, label]) => `<div><b>${escapeHtml(value!)}</b><span>${escapeHtml(label!)}</span></div>`,
  );
  return `<div class="tiles">${all.join("")}</div>`;
}

function worstList(bottlenecks: readonly Bottleneck[]): string {
  const items = bottlenecks.map(({ title, selfUs, sharePercent, finding, advice }) => {
    const bar = `<div class="bar" style="width:${Math.min(100, sharePercent).toFixed(1)}%"></div>`;
    const head = `<b>${escapeHtml(title)}</b> – ${formatUs(selfUs)}, ${sharePercent.toFixed(1)} %`;
    return `<li>${head}${bar}${escapeHtml(finding)} <span class="note">${escapeHtml(advice)}</span></li>`;
  });
  return `<ol class="worst">${items.join("")}</ol>`;
}

/** The report as one page that needs nothing else: flame charts, roofline, memory, bottlenecks in words, tables. */
export function htmlReport(report: ProfileReport, timeline: Timeline): string {
  const colors = new CategoryColors(report.ops.map(({ op }) => op));
  const source = report.ceilings ? `<p class="note">Ceilings: ${escapeHtml(report.ceilings.source)}.</p>` : "";
  const notes = report.notes.map((note) => `<p class="note">${escapeHtml(note)}</p>`).join("");
  const body = `<h1>Where the time went</h1>
${tiles(report)}
<h2>Bottlenecks</h2>
${worstList(report.bottlenecks)}
<h2>Flame chart</h2>
${flameCharts(timeline, report.wallUs, colors)}
<h2>Roofline</h2>
<p class="note">A dot is an op at one shape, its area the time it takes. Dots far below the line have something to gain; above it,
operands came from a cache or the algorithm computes less than the definition.</p>
${rooflineChart(report, colors)}${source}
<h2>Memory</h2>
${memoryChart(report)}
<h2>Ops</h2>
${opTable(report)}
<h2>The longest rows</h2>
${rowTable(report)}
${report.kernels.length > 0 ? `<h2>Kernels</h2>\n${kernelTable(report)}` : ""}
<details><summary>Scopes, blocks and rows</summary>${scopeTable(report)}</details>
${notes}`;
  return `<!doctype html>
<html lang="en">
<head><meta charset="utf-8"><meta name="viewport" content="width=device-width, initial-scale=1">
<link rel="icon" href="data:,"><title>Profile</title><style>${STYLE}</style></head>
<body>
${body}
</body>
</html>
`;
}
