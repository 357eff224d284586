import type { TrendPoint } from "@vd/profiler/charts";
import { rowKey } from "../measure/report";
import { formatMs } from "../measure/table";
import { percentile } from "../stats/summary";
import { measurementText } from "./gate-table";
import type { HistoryRow, Measurement } from "./history-file";

/** A trend over the measurements of a device, as a chart needs it. */
export interface Trend {
  steps: string[];
  points: TrendPoint[];
  outliers: TrendPoint[];
}

/** Suites of single ops, and of what switches gain, which are no parts of a generation. */
const isPart = ({ suite }: HistoryRow) => suite !== "ops" && suite !== "memory" && !suite.endsWith("-switches");

/** Month, day and time: short, and different for any two measurements that follow each other. */
export const stepText = ({ date }: Measurement): string => date.slice(5, 16).replace("T", " ");

const timed = (rows: readonly HistoryRow[]) =>
  rows.filter((row): row is HistoryRow & { medianUs: number; madUs: number } => row.medianUs !== undefined);

/** The faster of our contenders in each part, by suite and name. */
function fastestParts(measurement: Measurement) {
  const parts = new Map<string, HistoryRow & { medianUs: number; madUs: number }>();
  for (const row of timed(measurement.rows).filter(isPart)) {
    const key = `${row.suite}, ${row.name}`;
    const known = parts.get(key);
    if (known === undefined || row.medianUs < known.medianUs) parts.set(key, row);
  }
  return parts;
}

/** How long each part of a generation took, as multiples of its best: a series for each that was measured twice or more. */
export function partTrend(measurements: readonly Measurement[]): Trend {
  const all = measurements.map((measurement) => ({ measurement, parts: fastestParts(measurement) }));
  const keys = [...new Set(all.flatMap(({ parts }) => [...parts.keys()]))];
  const points = keys.flatMap((series) => {
    const found = all.flatMap(({ measurement, parts }) => {
      const row = parts.get(series);
      return row ? [{ measurement, row }] : [];
    });
    if (found.length < 2) return [];
    const best = Math.min(...found.map(({ row }) => row.medianUs));
    return found.map(({ measurement, row: { medianUs, madUs } }) => ({
      ...{ series, step: stepText(measurement), value: medianUs / best },
      ...{ low: (medianUs - madUs) / best, high: (medianUs + madUs) / best },
      title: `${series}: ${formatMs(medianUs)} ms, ${measurementText(measurement)}`,
    }));
  });
  return { steps: stepsOf(measurements, points), points, outliers: [] };
}

/** Steps that have a point, in the order of their measurements. */
function stepsOf(measurements: readonly Measurement[], points: readonly TrendPoint[]): string[] {
  const used = new Set(points.map(({ step }) => step));
  return [...new Set(measurements.map(stepText))].filter((step) => used.has(step));
}

/** Rows of a measurement that are named beside its spread. */
const NUM_OUTLIERS = 5;
/** What the spread of a measurement's rows covers. */
const SPREAD = [0.05, 0.95] as const;

/** How long ops took as multiples of each one's best: the median of all ops, the range of nine in ten, and the furthest above it. */
export function opTrend(measurements: readonly Measurement[]): Trend {
  const ofOps = measurements.filter(({ command, rows }) => command === "ops" && rows.length > 0);
  const best = new Map<string, number>();
  for (const row of ofOps.flatMap(({ rows }) => timed(rows)))
    best.set(rowKey(row), Math.min(row.medianUs, best.get(rowKey(row)) ?? Number.POSITIVE_INFINITY));
  const series = "median of all ops, and nine in ten of them";
  const points: TrendPoint[] = [];
  const outliers: TrendPoint[] = [];
  if (ofOps.length < 2) return { steps: [], points, outliers };
  for (const measurement of ofOps) {
    const step = stepText(measurement);
    const ratios = timed(measurement.rows)
      .map((row) => ({ name: rowKey(row), ratio: row.medianUs / best.get(rowKey(row))! }))
      .sort((a, b) => a.ratio - b.ratio);
    const values = ratios.map(({ ratio }) => ratio);
    const [low, value, high] = [SPREAD[0], 0.5, SPREAD[1]].map((part) => percentile(values, part));
    const title = `${ratios.length} ops, median ${value!.toFixed(2)}, ${measurementText(measurement)}`;
    points.push({ series, step, value: value!, low: low!, high: high!, title });
    for (const { name, ratio } of ratios.slice(-NUM_OUTLIERS).filter((each) => each.ratio > high!))
      outliers.push({ series, step, value: ratio, low: ratio, high: ratio, title: `${name}: ${ratio.toFixed(2)}` });
  }
  return { steps: stepsOf(measurements, points), points, outliers };
}
