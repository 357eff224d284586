import { CHART_STYLE, escapeHtml } from "@vd/profiler/charts";
import type { BenchFile } from "../measure/report";
import { type Chart, chartsOf } from "./charts";
import { machineText } from "./markdown";
import { headline } from "./op-ratios";

const STYLE = `${CHART_STYLE}
:root { --back: #ffffff; --text: #1b1f24; --quiet: #59636e; --line: #d8dee4; }
@media (prefers-color-scheme: dark) { :root { --back: #0d1117; --text: #e6edf3; --quiet: #9198a1; --line: #3d444d; } }
body { background: var(--back); color: var(--text); font: 16px/1.5 system-ui, sans-serif; margin: 0 auto; padding: 16px;
  max-width: 1200px; overflow-wrap: anywhere; }
h1 { font-size: 24px; margin-bottom: 4px; } .headline { font-size: 20px; color: var(--text); margin-bottom: 12px; }
h2, summary { font-size: 18px; font-weight: 600; } h2 { margin: 0 0 4px; } summary { cursor: pointer; }
section { margin: 32px 0 0; border-top: 1px solid var(--line); padding-top: 16px; }
p { color: var(--quiet); margin: 0 0 8px; } code { font-size: 14px; }`;

function section({ title, caption, figure, isFolded = false }: Chart): string {
  const body = `<p>${escapeHtml(caption)}</p>${figure}`;
  return isFolded
    ? `<section><details><summary>${escapeHtml(title)}</summary>${body}</details></section>`
    : `<section><h2>${escapeHtml(title)}</h2>${body}</section>`;
}

/** Results as one page without anything from outside: charts as SVG that follow the reader's theme, for wide and narrow
 *  windows. commands: those that made the results. history: charts of earlier measurements. */
export function reportHtml(file: BenchFile, commands: readonly string[], history: readonly Chart[] = []): string {
  const title = escapeHtml(`Benchmarks: ${file.machine.device}`);
  const first = headline(file.rows);
  return `<!doctype html>
<html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width, initial-scale=1">
<link rel="icon" href="data:,">
<title>${title}</title><style>${STYLE}</style></head>
<body><h1>${title}</h1>${first === undefined ? "" : `<p class="headline">${escapeHtml(first)}</p>`}
<p>${escapeHtml(machineText(file))}</p>${commands.map((command) => `<p><code>${escapeHtml(command)}</code></p>`).join("")}
${[...chartsOf(file), ...history].map(section).join("\n")}
</body></html>
`;
}
