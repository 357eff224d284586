import type { Rates } from "../doctor/rates";
import { numSamples } from "../stats/summary";
import type { BenchRow } from "./report";
import { rowKey } from "./report";
import { percent, rooflineShare } from "./roofline";

const MILLI = 1e-3;

/** µs as milliseconds with as many digits as mean something. */
export function formatMs(us: number): string {
  const ms = us * MILLI;
  return ms >= 100 ? ms.toFixed(0) : ms >= 10 ? ms.toFixed(1) : ms >= 1 ? ms.toFixed(2) : ms.toFixed(4);
}

const gibibytes = (bytes: number | undefined) => (bytes === undefined ? "" : (bytes / 2 ** 30).toFixed(2));

/** Columns that start and end alike, two spaces apart; the first two to the left, the others to the right. */
export function alignColumns(lines: readonly (readonly string[])[]): string {
  const widths = lines[0]!.map((_, column) => Math.max(...lines.map((line) => (line[column] ?? "").length)));
  return lines
    .map((line) =>
      line
        .map((cell, column) => (column < 2 ? cell.padEnd(widths[column]!) : cell.padStart(widths[column]!)))
        .join("  ")
        .trimEnd(),
    )
    .join("\n");
}

/** By how much a row is slower than ours in the same case: "1.30" means that ours takes 1/1.3 of its time. */
function ratio(row: BenchRow, rows: readonly BenchRow[]): string {
  const ours = rows.find((other) => rowKey(other) === rowKey({ ...row, contender: "ours" }));
  if (row.medianUs === undefined || ours?.medianUs === undefined || row === ours) return "";
  return (row.medianUs / ours.medianUs).toFixed(2);
}

/** What the columns of errors to float64 are, for below a table that has them. */
export const FLOAT64_LEGEND =
  "error to float64: relative L2 distance to the same call in float64 over the operands as they are stored, those of 8 bits " +
  "after rounding: the kernel's own error. error of 8 bits: the same over the operands before they were rounded to 8 bits: " +
  "what the kernel and 8 bits cost together. Both over a sample of the result's elements that the case's name decides; all of a small result.";

/** Heads of the columns of errors to float64 that rows have. */
export function float64Heads(rows: readonly BenchRow[]): string[] {
  const own = rows.some(({ float64Error }) => float64Error !== undefined);
  const cost = rows.some(({ unroundedError }) => unroundedError !== undefined);
  return [...(own ? ["error to float64"] : []), ...(cost ? ["error of 8 bits"] : [])];
}

/** A row's cells for `heads`. */
export function float64Cells(row: BenchRow, heads: readonly string[]): string[] {
  const text = (error: number | undefined) => error?.toExponential(2) ?? "";
  return [text(row.float64Error), text(row.unroundedError)].slice(0, heads.length);
}

/** The rows as text: time with its spread and number of samples, ratio to ours, errors, memory; or why there is no figure, and below it
 *  what errors to float64 are. rates:
 *  what the device reaches, for the shares of its bandwidth and of the roofline. */
export function rowsTable(rows: readonly BenchRow[], rates?: Rates): string {
  const float64 = float64Heads(rows);
  const head = [
    "case",
    "contender",
    "ms",
    "±",
    "n",
    "x ours",
    "TFLOP/s",
    "GB/s",
    ...(rates ? ["bandwidth", "roofline"] : []),
    "error",
    ...float64,
    "GiB",
    "launches",
    "first s",
  ];
  const lines = rows.map((row) => {
    const { suite, name, contender, medianUs, madUs, error, peakBytes, flops, bytes, launches, firstUs, reason } = row;
    const what = [`${suite} ${name}`, contender];
    if (medianUs === undefined || madUs === undefined)
      return [
        ...what,
        "-",
        "",
        "",
        "",
        "",
        "",
        "",
        ...(rates ? ["", ""] : []),
        ...float64.map(() => ""),
        gibibytes(peakBytes),
        "",
        "",
        reason ?? "",
      ];
    const rate = flops === undefined ? "" : (flops / medianUs / 1e6).toFixed(1);
    const traffic = bytes === undefined ? "" : (bytes / medianUs / 1e3).toFixed(0);
    const share = rates && rooflineShare(row, rates);
    const shares = share ? [percent(share.bandwidth), percent(share.roofline)] : rates ? ["", ""] : [];
    // One sample has no spread: 0 would claim that it has none.
    const spread = row.samplesUs?.length === 1 ? "" : formatMs(madUs);
    const times = [formatMs(medianUs), spread, String(numSamples(row)), ratio(row, rows), rate, traffic];
    const first = firstUs === undefined ? "" : (firstUs / 1e6).toFixed(1);
    const counted = launches === undefined ? "" : String(launches);
    return [
      ...what,
      ...times,
      ...shares,
      error?.toExponential(2) ?? "",
      ...float64Cells(row, float64),
      gibibytes(peakBytes),
      counted,
      first,
      reason ?? "",
    ];
  });
  const table = alignColumns([[...head, ""], ...lines]);
  return float64.length > 0 ? `${table}\n\n${FLOAT64_LEGEND}` : table;
}
