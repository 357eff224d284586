import { type Comparison, compareSides, EMPTY, ERROR, isRegression, sidesOf } from "../compare/compare";
import { rowKey } from "../measure/report";
import { tooFewSamples } from "../stats/summary";
import { measurementKey } from "./append";
import type { Acceptance, History, HistoryRow, Measurement } from "./history-file";

/** A row beside the best that any earlier build reached. */
export interface GateRow {
  comparison: Comparison;
  /** The measurement of that best; undefined for a row that no earlier one has. */
  best?: Measurement | undefined;
  /** Why earlier, faster measurements of the row do not count. */
  accepted?: Acceptance | undefined;
}

/** A measurement beside the history of its device. */
export interface GateResult {
  measurement: Measurement;
  /** Earlier measurements that it can be compared with. */
  earlier: Measurement[];
  rows: GateRow[];
  /** Rows that the last such measurement of the same command has and this one has not. */
  gone: HistoryRow[];
}

/** What is the same for rows that can be compared. */
const seriesOf = ({ device, conditions }: Measurement) => {
  const { capability, model, precision, threads } = conditions;
  return JSON.stringify([device, capability, model, precision, threads]);
};

/** Measurements of the same device and conditions that were made before. */
export const earlierOf = ({ measurements }: History, given: Measurement): Measurement[] =>
  measurements.filter(
    (each) =>
      seriesOf(each) === seriesOf(given) &&
      measurementKey(each) !== measurementKey(given) &&
      Date.parse(each.date) < Date.parse(given.date),
  );

/** The smallest median of a row with samples enough. */
function bestOf(key: string, earlier: readonly Measurement[], since: number) {
  let best: { row: HistoryRow; measurement: Measurement } | undefined;
  for (const measurement of earlier) {
    if (Date.parse(measurement.date) < since) continue;
    const row = measurement.rows.find((each) => rowKey(each) === key);
    if (row?.medianUs === undefined || tooFewSamples(row) !== undefined) continue;
    if (best === undefined || row.medianUs < best.row.medianUs!) best = { row, measurement };
  }
  return best;
}

/** Compares every row of a measurement with its best of the history; the probability that a row of unchanged code is called faster
 *  or slower is {@link ERROR} for all rows together, as in `compare`. */
export function gateMeasurement(history: History, measurement: Measurement): GateResult {
  const earlier = earlierOf(history, measurement);
  const found = measurement.rows.map((row) => {
    const key = rowKey(row);
    const ofRow = history.accepted.filter((each) => each.device === measurement.device && each.row === key);
    const accepted = ofRow.sort((a, b) => Date.parse(a.since) - Date.parse(b.since)).at(-1);
    return {
      row,
      accepted,
      best: bestOf(key, earlier, accepted ? Date.parse(accepted.since) : Number.NEGATIVE_INFINITY),
    };
  });
  const error = ERROR / Math.max(found.filter(({ row, best }) => best && row.medianUs !== undefined).length, 1);
  const rows = found.map(({ row, best, accepted }): GateRow => {
    const after = [...sidesOf([{ rows: [row] }]).values()][0]!;
    const before = best ? { runs: [best.row], failed: false } : EMPTY;
    return { comparison: compareSides(row, before, after, error), best: best?.measurement, accepted };
  });
  const last = earlier.filter(({ command }) => command === measurement.command).at(-1);
  const keys = new Set(measurement.rows.map(rowKey));
  return { measurement, earlier, rows, gone: last?.rows.filter((row) => !keys.has(rowKey(row))) ?? [] };
}

/** The last measurement of each command, device and conditions. */
export function newestOf({ measurements }: History): Measurement[] {
  return [...new Map(measurements.map((each) => [`${seriesOf(each)} ${each.command}`, each])).values()];
}

/** True if a row became slower than its best by more than noise, or no longer runs. */
export const isGateClosed = (results: readonly GateResult[]): boolean =>
  results.some(({ rows }) => isRegression(rows.map(({ comparison }) => comparison)));
