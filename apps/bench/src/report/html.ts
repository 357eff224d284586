import type { BenchFile } from "../measure/report";
import { chartsOf } from "./charts";
import { machineText } from "./markdown";
import { drawChart } from "./render";

const escaped = (text: string) =>
  text.replaceAll("&", "&amp;").replaceAll("<", "&lt;").replaceAll(">", "&gt;").replaceAll('"', "&quot;");

/** Shows the drawing whose theme and width fit. */
const STYLE = `
:root { color-scheme: light dark; --back: #ffffff; --text: #1b1f24; --quiet: #59636e; --line: #d8dee4; }
@media (prefers-color-scheme: dark) { :root { --back: #0d1117; --text: #e6edf3; --quiet: #9198a1; --line: #3d444d; } }
body { background: var(--back); color: var(--text); font: 16px/1.5 system-ui, sans-serif; margin: 0 auto; padding: 16px;
  max-width: 860px; overflow-wrap: anywhere; }
h1 { font-size: 24px; } h2 { font-size: 18px; margin: 32px 0 4px; border-top: 1px solid var(--line); padding-top: 16px; }
p { color: var(--quiet); margin: 0 0 8px; } code { font-size: 14px; } svg { max-width: 100%; height: auto; display: block; }
.dark, .wide { display: none; }
@media (prefers-color-scheme: dark) { .light { display: none; } .dark { display: block; } }
@media (min-width: 700px) { .narrow { display: none; } .wide.light { display: block; } }
@media (min-width: 700px) and (prefers-color-scheme: dark) { .wide.light { display: none; } .wide.dark { display: block; } }
@media (max-width: 699px) { .wide { display: none !important; } }
@media (min-width: 700px) { .narrow { display: none !important; } }`;

/** Results as one page without anything from outside: charts as SVG in both themes, for wide and narrow windows.
 *  commands: those that made the results. */
export async function reportHtml(file: BenchFile, commands: readonly string[]): Promise<string> {
  const sections: string[] = [];
  for (const chart of chartsOf(file)) {
    const drawings = await drawChart(chart);
    const figures = drawings.map(
      ({ theme, width, svg }) =>
        `<div class="${theme} ${width}" role="img" aria-label="${escaped(chart.title)}">${svg}</div>`,
    );
    sections.push(
      `<section><h2>${escaped(chart.title)}</h2><p>${escaped(chart.caption)}</p>${figures.join("")}</section>`,
    );
  }
  const title = escaped(`Benchmarks: ${file.machine.device}`);
  return `<!doctype html>
<html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width, initial-scale=1">
<link rel="icon" href="data:,">
<title>${title}</title><style>${STYLE}</style></head>
<body><h1>${title}</h1><p>${escaped(machineText(file))}</p>${commands.map((command) => `<p><code>${escaped(command)}</code></p>`).join("")}
${sections.join("\n")}
</body></html>
`;
}
