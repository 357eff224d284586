import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { ROOT } from "../../build/workspace.mjs";
import type { GeneratedFile } from "../generated-file";

const PAGE = join(ROOT, "docs/serving.md");
const REPORT = join(ROOT, "reports/cpu/studio-load.json");
const BEGIN = "<!-- figures: reports/cpu/studio-load.json, by pnpm gen -->";
const END = "<!-- end of figures -->";
const GIB = 2 ** 30;

/** What the load run writes, as far as the page shows it. */
interface LoadFigures {
  date: string;
  seconds: number;
  listeners: number;
  submitters: number;
  workers: number;
  machine: { cpu: string; cores: number; hostBytes: number; node: string };
  loadBefore: number;
  answers: { count: number; p50: number; p95: number; p99: number };
  verdicts: { what: string; limit: string; measured: string; isKept: boolean }[];
}

/** Returns the figures of a load run as a table with a sentence before it. */
function figures(report: LoadFigures): string {
  const { machine, answers, verdicts } = report;
  const ms = (value: number) => `${value.toFixed(1)} ms`;
  const broken = verdicts.filter(({ isKept }) => !isKept).length;
  const outcome = broken === 0 ? "All of it was kept." : `${broken} of ${verdicts.length} promises were not kept.`;
  const rows = verdicts.map(
    ({ what, limit, measured, isKept }) => `| ${what} | ${limit} | ${measured} | ${isKept ? "kept" : "**not kept**"} |`,
  );
  return `${report.date}: ${report.seconds} s, ${report.listeners} clients that hear events, ${report.submitters} that queue videos, ${report.workers} workers, all
on one machine with ${machine.cores} cores (${machine.cpu}, ${(machine.hostBytes / GIB).toFixed(0)} GiB, Node.js ${machine.node}; load average before it ${report.loadBefore.toFixed(2)}).
**${outcome}**

| promise | limit | measured | |
| --- | --- | --- | --- |
${rows.join("\n")}

As the clients saw them, on the same cores: ${answers.count} answers, half of them within ${ms(answers.p50)}, 95 % within ${ms(answers.p95)}, 99 % within ${ms(answers.p99)}.`;
}

/** Returns the page about serving with the figures of the last load run in it; no figures where there is no run. */
export function files(): GeneratedFile[] {
  const page = readFileSync(PAGE, "utf8");
  const [from, to] = [page.indexOf(BEGIN), page.indexOf(END)];
  if (from === -1 || to < from) throw new Error(`${PAGE} has no place for figures: ${BEGIN} … ${END}`);
  const report = existsSync(REPORT) ? (JSON.parse(readFileSync(REPORT, "utf8")) as LoadFigures) : undefined;
  const between = report ? `\n${figures(report)}\n` : "\n";
  return [[PAGE, `${page.slice(0, from + BEGIN.length)}${between}${page.slice(to)}`]];
}
