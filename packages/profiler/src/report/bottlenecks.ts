import type { Ceilings } from "../ceilings";
import { formatFlopRate, formatNumber } from "./format";
import { scopeAdvice } from "./scope-advice";
import type { Bottleneck, ReportNode, RowSummary } from "./types";

const MAX_BOTTLENECKS = 8;
/** Less is not worth a sentence. */
const LEAST_PERCENT = 0.5;
/** From here on a kernel is as good as the device allows. */
const NEAR_ROOF_PERCENT = 60;
/** Rows this short cost more to start than to compute. */
const SHORT_ROW_US = 15;

/** Rows of one op in one plan. */
interface RowGroup {
  plan: string;
  op: string;
  rows: RowSummary[];
}

const sum = <T>(items: readonly T[], pick: (item: T) => number) => items.reduce((total, item) => total + pick(item), 0);

const percent = (value: number) => `${value.toFixed(value < 10 ? 1 : 0)} %`;

function groups(rows: readonly RowSummary[]): RowGroup[] {
  const found = new Map<string, RowGroup>();
  for (const row of rows) {
    const key = `${row.plan} ${row.op} ${row.fast}`;
    const group = found.get(key) ?? { plan: row.plan, op: row.op, rows: [] };
    found.set(key, group);
    group.rows.push(row);
  }
  return [...found.values()];
}

interface Verdict {
  finding: string;
  advice: string;
}

/** What limits a group, by the roofline: https://doi.org/10.1145/1498765.1498785 */
function judgeRows({ rows, op }: RowGroup, totalUs: number, ceilings: Ceilings | undefined): Verdict {
  const [bytes, flops, count] = [sum(rows, (r) => r.bytes), sum(rows, (r) => r.flops), sum(rows, (r) => r.count)];
  const rate = `${formatNumber(bytes / totalUs / 1e3)} GB/s and ${formatFlopRate(flops / totalUs)}`;
  if (rows.some(({ fast }) => !fast))
    return {
      finding: `${rate}; the plain definition runs, there is no fast path for these shapes.`,
      advice: `A fast path for ${op} at ${rows[0]!.shape} would help most.`,
    };
  if (totalUs / count < SHORT_ROW_US)
    return {
      finding: `${count} short runs of ${(totalUs / count).toFixed(1)} µs each: starting them counts as much as computing.`,
      advice: "Fuse them with their neighbours, or make each larger: more frames or a larger picture cost little here.",
    };
  if (!ceilings)
    return { finding: `${rate}.`, advice: "Measure the device's ceilings to see how much there is to gain." };
  const flopsPerUs = Math.max(0, ...Object.values(ceilings.flopsPerUs));
  const isMemory = bytes / ceilings.bytesPerUs > flops / flopsPerUs;
  const reached = sum(rows, (r) => ((r.rooflinePercent ?? 0) / 100) * r.totalUs) / totalUs;
  const finding = `${rate}: ${percent(100 * reached)} of what ${isMemory ? "memory" : "arithmetic"} allows.`;
  return { finding, advice: roofAdvice(100 * reached, isMemory, op) };
}

function roofAdvice(reachedPercent: number, isMemory: boolean, op: string): string {
  if (reachedPercent < NEAR_ROOF_PERCENT)
    return `The kernel leaves ${percent(100 - reachedPercent)} unused: look at its tile and thread count with \`vd-bench ops ${op}\`.`;
  return isMemory
    ? "The kernel is near the limit; only moving less helps: half precision, fewer frames, fusing with a neighbour."
    : "The kernel is near the limit; only computing less helps: fewer steps, no guidance, a smaller size, half precision.";
}

/** Own time of scopes, the steps of a loop together. */
function scopeTimes(nodes: readonly ReportNode[], outer: string, found: Map<string, Bottleneck>): void {
  for (const node of nodes) {
    if (node.kind !== "scope") continue;
    const name = node.name.replace(/^step \d+$/, "step");
    const title = outer === "" ? name : `${name} in ${outer}`;
    const known = found.get(title) ?? { title, selfUs: 0, sharePercent: 0, ...scopeAdvice(name) };
    known.selfUs += node.selfUs;
    known.sharePercent += node.sharePercent;
    found.set(title, known);
    scopeTimes(node.children, name === "step" || name === "run" ? outer : name, found);
  }
}

/** What takes the most time of its own, the worst first: rows by op and plan, and scopes. */
export function findBottlenecks(
  scopes: readonly ReportNode[],
  rows: readonly RowSummary[],
  ceilings: Ceilings | undefined,
): Bottleneck[] {
  const found = new Map<string, Bottleneck>();
  scopeTimes(scopes, "", found);
  const ofRows = groups(rows).map((group): Bottleneck => {
    const [selfUs, totalUs] = [sum(group.rows, (r) => r.selfUs), sum(group.rows, (r) => r.totalUs)];
    const numRows = group.rows.length;
    return {
      title: `${group.op} in ${group.plan} (${numRows} row${numRows === 1 ? "" : "s"})`,
      ...{ selfUs, sharePercent: sum(group.rows, (r) => r.sharePercent) },
      ...judgeRows(group, totalUs, ceilings),
    };
  });
  return [...ofRows, ...found.values()]
    .filter(({ sharePercent }) => sharePercent >= LEAST_PERCENT)
    .sort((a, b) => b.selfUs - a.selfUs)
    .slice(0, MAX_BOTTLENECKS);
}
