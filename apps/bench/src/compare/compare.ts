import { VdError } from "@vd/kernels-native";
import { type BenchFile, type BenchRow, rowKey } from "../measure/report";
import { alignColumns, formatMs } from "../measure/table";

/** How a row stands against the baseline. */
export type Verdict = "better" | "same" | "worse" | "new" | "gone" | "failed";

/** One row of two files beside each other. */
export interface Comparison {
  row: BenchRow;
  verdict: Verdict;
  beforeUs?: number | undefined;
  afterUs?: number | undefined;
  /** What a difference must exceed to be more than noise. */
  noiseUs?: number;
}

/** A median absolute deviation times this is a standard deviation of normal numbers. */
const DEVIATION_PER_MAD = 1.4826;
/** The median's standard error, relative to that of the mean. Source: the normal distribution, √(π/2). */
const MEDIAN_ERROR = Math.sqrt(Math.PI / 2);
/** Standard errors that a difference must exceed. */
const SIGMAS = 3;
/** Differences up to this share come and go with clocks and addresses. */
const RESOLUTION = 0.03;

const standardError = ({ madUs = 0, samplesUs = [] }: BenchRow) =>
  (MEDIAN_ERROR * DEVIATION_PER_MAD * madUs) / Math.sqrt(Math.max(samplesUs.length, 1));

/** What the difference of two rows must exceed to be more than noise, in µs. */
export function noiseOf(before: BenchRow, after: BenchRow): number {
  const measured = SIGMAS * Math.hypot(standardError(before), standardError(after));
  return Math.max(measured, RESOLUTION * (before.medianUs ?? 0));
}

function compareRows(before: BenchRow | undefined, after: BenchRow | undefined): Comparison {
  const row = (after ?? before)!;
  const [beforeUs, afterUs] = [before?.medianUs, after?.medianUs];
  const both = { row, beforeUs, afterUs };
  if (beforeUs === undefined) return { ...both, verdict: "new" };
  if (afterUs === undefined) return { ...both, verdict: after ? "failed" : "gone" };
  const noiseUs = noiseOf(before!, after!);
  const difference = afterUs - beforeUs;
  const verdict = Math.abs(difference) <= noiseUs ? "same" : difference < 0 ? "better" : "worse";
  return { ...both, verdict, noiseUs };
}

/** Throws VdError `unsupported` for a baseline from another device. */
export function requireSameDevice(baseline: BenchFile, device: string): void {
  if (baseline.machine.device === device) return;
  throw new VdError({
    code: "unsupported",
    where: "--compare",
    expected: `a baseline from this device, ${device}`,
    got: `one from ${baseline.machine.device}`,
    hint: "Use --force to compare different devices all the same.",
  });
}

/** Compares results with a baseline, row by row. gone: also tell of rows that only the baseline has. force: compare
 *  results of different devices. Throws VdError `unsupported` for a baseline from another device. */
export function compareFiles(
  baseline: BenchFile,
  current: BenchFile,
  { force = false, gone = true }: { force?: boolean; gone?: boolean } = {},
): Comparison[] {
  if (!force) requireSameDevice(baseline, current.machine.device);
  const before = new Map(baseline.rows.map((row) => [rowKey(row), row]));
  const after = new Map(current.rows.map((row) => [rowKey(row), row]));
  const keys = [...after.keys(), ...(gone ? [...before.keys()].filter((key) => !after.has(key)) : [])];
  return keys.map((key) => compareRows(before.get(key), after.get(key)));
}

/** True if something of ours became slower by more than noise, or no longer runs. */
export const isRegression = (comparisons: readonly Comparison[]): boolean =>
  comparisons.some(
    ({ row, verdict }) => row.contender.startsWith("ours") && (verdict === "worse" || verdict === "failed"),
  );

/** Comparisons as text. */
export function comparisonTable(comparisons: readonly Comparison[]): string {
  const ms = (us: number | undefined) => (us === undefined ? "-" : formatMs(us));
  const lines = comparisons.map(({ row, verdict, beforeUs, afterUs, noiseUs }) => {
    const change =
      beforeUs === undefined || afterUs === undefined ? "" : `${((afterUs / beforeUs - 1) * 100).toFixed(1)} %`;
    return [`${row.suite} ${row.name}`, row.contender, ms(beforeUs), ms(afterUs), change, ms(noiseUs), verdict];
  });
  return alignColumns([["case", "contender", "before ms", "after ms", "change", "noise ms", "verdict"], ...lines]);
}
