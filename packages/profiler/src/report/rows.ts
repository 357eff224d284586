import { describe, type GraphLayout } from "@vd/tensor";
import type { Ceilings } from "../ceilings";
import type { Attribution } from "../record/attribution";
import type { PlanRun, Recording } from "../record/recording";
import { addWork, noWork, ratesOf, type Work, workOf } from "./cost";
import { percentOf, splitRun } from "./tree";
import type { OpSummary, RowSummary } from "./types";

interface Sum {
  count: number;
  totalUs: number;
  selfUs: number;
  work: Work;
}

/** All runs of one plan's layout, added up. */
interface PlanSum {
  run: PlanRun;
  numRuns: number;
  totalUs: Float64Array;
  selfUs: Float64Array;
}

function sumPlans({ edges }: Recording, { selfUs }: Attribution): PlanSum[] {
  const sums = new Map<GraphLayout, PlanSum>();
  for (const { span, isStart } of edges) {
    if (!isStart || !span.run) continue;
    const { layout } = span.run.plan;
    const numRows = layout.graph.rows.length;
    const fresh = { run: span.run, numRuns: 0, totalUs: new Float64Array(numRows), selfUs: new Float64Array(numRows) };
    const sum = sums.get(layout) ?? fresh;
    sums.set(layout, sum);
    sum.numRuns++;
    const shares = splitRun(span.run, span.endUs! - span.startUs, selfUs.get(span) ?? 0);
    for (let i = 0; i < numRows; i++) {
      sum.totalUs[i]! += span.run.times.rowUs[i]!;
      sum.selfUs[i]! += shares.selfUs[i]!;
    }
  }
  return [...sums.values()];
}

/** Every row of every plan, its runs together, the longest first. */
export function summarizeRows(recording: Recording, attribution: Attribution, ceilings?: Ceilings): RowSummary[] {
  const rows = sumPlans(recording, attribution).flatMap(({ run: { plan }, numRuns, totalUs, selfUs }) =>
    plan.layout.graph.rows.map((row, i): RowSummary => {
      const work = noWork(ceilings !== undefined);
      addWork(work, workOf(row, plan.layout.graph.dtype, ceilings), numRuns);
      const result = row.outputs[0];
      return {
        ...{ plan: plan.name, name: row.name, op: row.op, shape: result ? describe(result) : "" },
        ...{ fast: plan.info.fast[i] ?? true, variant: plan.info.variants[i] ?? "" },
        ...{ count: numRuns, totalUs: totalUs[i]!, selfUs: selfUs[i]! },
        sharePercent: percentOf(selfUs[i]!, attribution.wallUs),
        ...ratesOf(work, totalUs[i]!),
      };
    }),
  );
  return rows.sort((a, b) => b.selfUs - a.selfUs);
}

/** The rows of each op together, the longest first. */
export function summarizeOps(rows: readonly RowSummary[], hasCeilings: boolean): OpSummary[] {
  const sums = new Map<string, Sum & { sharePercent: number }>();
  for (const row of rows) {
    const fresh = { count: 0, totalUs: 0, selfUs: 0, sharePercent: 0, work: noWork(hasCeilings) };
    const sum = sums.get(row.op) ?? fresh;
    sums.set(row.op, sum);
    sum.count += row.count;
    sum.totalUs += row.totalUs;
    sum.selfUs += row.selfUs;
    sum.sharePercent += row.sharePercent;
    const idealUs = row.rooflinePercent === null ? 0 : (row.rooflinePercent / 100) * row.totalUs;
    addWork(sum.work, { bytes: row.bytes, flops: row.flops, idealUs });
  }
  return [...sums]
    .map(([op, { work, ...times }]) => ({ op, ...times, ...ratesOf(work, times.totalUs) }))
    .sort((a, b) => b.selfUs - a.selfUs);
}
