import type { Comparison } from "../compare/compare";
import { comparisonTable } from "../compare/table";
import { rowKey } from "../measure/report";
import { formatMs } from "../measure/table";
import { withShortHashes } from "../report/markdown";
import type { GateResult, GateRow } from "./gate";
import type { Measurement } from "./history-file";

/** When and of which build, in some words. */
export function measurementText({ date, commit, kernelHash }: Measurement): string {
  const kernels = kernelHash === "" ? "" : `, kernels ${kernelHash}`;
  return withShortHashes(`${date.slice(0, 16).replace("T", " ")} (commit ${commit}${kernels})`);
}

const counted = (count: number, what: string) => `${count} ${what}${count === 1 ? "" : "s"}`;

/** What a row that closes the gate does. */
function sentence({ comparison: { row, verdict, beforeUs, afterUs }, best }: GateRow): string {
  const name = `${row.suite} ${row.name} (${row.contender})`;
  if (verdict === "failed") return `${name} does not run: ${row.reason ?? "no time"}.`;
  const share = (100 * (afterUs! / beforeUs! - 1)).toFixed(1);
  const times = `${formatMs(afterUs!)} ms instead of ${formatMs(beforeUs!)} ms`;
  return `${name} takes ${share} % longer than its best, ${times}, measured on ${measurementText(best!)}.`;
}

const isBad = ({ comparison: { verdict } }: GateRow) => verdict === "slower" || verdict === "failed";

/** Verdicts by what they say, in this order. */
const COUNTED: Readonly<Partial<Record<Comparison["verdict"], string>>> = {
  slower: "slower than their best",
  failed: "no longer run",
  faster: "faster than ever",
  same: "at their best within noise",
  undecided: "without samples enough to tell",
  new: "new",
};

function countsText(rows: readonly GateRow[]): string {
  const counts = Object.entries(COUNTED).map(([verdict, words]) => {
    const count = rows.filter(({ comparison }) => comparison.verdict === verdict).length;
    return count === 0 ? "" : `${count} ${words}`;
  });
  return counts.filter((text) => text !== "").join(", ");
}

/** One measurement beside its history: how many rows stand where, a table of those that became slower, a sentence for each, and the
 *  rows that are gone. all: a table of every row that has a best. */
export function gateText({ measurement, earlier, rows, gone }: GateResult, { all = false } = {}): string {
  const { device, command, conditions } = measurement;
  const model = conditions.model === undefined ? "" : ` of ${conditions.model}`;
  const title = `${device}: ${command}${model}, ${measurementText(measurement)}, beside ${counted(earlier.length, "earlier measurement")}`;
  const lines = [title, `${counted(rows.length, "row")}: ${countsText(rows)}.`];
  const shown = rows.filter((row) => isBad(row) || (all && row.best !== undefined)).map(({ comparison }) => comparison);
  if (shown.length > 0) lines.push("", comparisonTable(shown, { before: "best", advice: false }), "");
  lines.push(...rows.filter(isBad).map(sentence));
  for (const { accepted, comparison } of rows)
    if (accepted) lines.push(`${rowKey(comparison.row)} counts since ${accepted.since}: ${accepted.reason}`);
  if (gone.length > 0) lines.push(`Gone since the measurement before: ${gone.map(rowKey).join("; ")}.`);
  return lines.join("\n");
}
