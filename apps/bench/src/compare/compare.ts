import { VdError } from "@vd/kernels-native";
import { type BenchFile, type BenchRow, rowKey } from "../measure/report";
import { type Interval, shiftOfMeans, shiftOfSamples } from "../stats/interval";
import { LEAST_SAMPLES, median, tooFewSamples } from "../stats/summary";

/** How a row stands against the baseline. same: no difference beyond the noise; undecided: not enough samples to tell. */
export type Verdict = "faster" | "slower" | "same" | "undecided" | "new" | "gone" | "failed";

/** One case and contender in the runs of both sides. */
export interface Comparison {
  row: BenchRow;
  verdict: Verdict;
  /** Medians, of several runs the median of their medians. */
  beforeUs?: number | undefined;
  afterUs?: number | undefined;
  /** Of the time's relative change, as natural logarithms. */
  change?: Interval | undefined;
  /** Runs, or samples of the one run, that the verdict comes from. */
  numBefore: number;
  numAfter: number;
  unit: "runs" | "samples";
}

/** Probability that in a comparison of unchanged code any row at all is called faster or slower. */
export const ERROR = 0.01;
/** Changes below these shares are the same, however sure: clocks, addresses and page tables differ from run to run. One run a
 *  side shows nothing of that, so that it must be more. */
export const LEAST_CHANGE = { runs: 0.03, samples: 0.05 } as const;
/** Runs in all from which the spread between runs counts; with fewer the spread within them has to do. */
const LEAST_RUNS = 4;

/** The runs of one case and contender in which it was measured, and whether it failed in any. */
export interface Side {
  runs: BenchRow[];
  failed: boolean;
}

type Pair = Pick<Comparison, "numBefore" | "numAfter" | "unit"> & { interval: (error: number) => Interval | undefined };

/** What a pair of sides can be judged by: run medians where there are enough runs, else samples. */
function pairOf(before: readonly BenchRow[], after: readonly BenchRow[]): Pair {
  const logs = (values: readonly number[]) => values.map((us) => Math.log(us));
  if (before.length + after.length >= LEAST_RUNS) {
    const usable = (rows: readonly BenchRow[]) => rows.filter((row) => tooFewSamples(row) === undefined);
    const [a, b] = [usable(before), usable(after)].map((rows) => logs(rows.map(({ medianUs }) => medianUs!)));
    const hasBoth = a!.length > 0 && b!.length > 0;
    return {
      ...{ numBefore: a!.length, numAfter: b!.length, unit: "runs" },
      interval: (error) => (hasBoth ? shiftOfMeans(a!, b!, error) : undefined),
    };
  }
  const [a, b] = [before, after].map((rows) =>
    logs(rows.flatMap(({ samplesUs = [] }) => samplesUs).filter((us) => us > 0)),
  );
  const hasSpread = Math.min(a!.length, b!.length) >= LEAST_SAMPLES;
  return {
    ...{ numBefore: a!.length, numAfter: b!.length, unit: "samples" },
    // Ranks need no distribution, but more samples than there mostly are where many rows share the error.
    interval: (error) => shiftOfSamples(a!, b!, error) ?? (hasSpread ? shiftOfMeans(a!, b!, error) : undefined),
  };
}

function verdictOf(change: Interval | undefined, unit: Comparison["unit"]): Verdict {
  if (change === undefined) return "undecided";
  const { estimate, low, high } = change;
  const least = Math.log1p(LEAST_CHANGE[unit]);
  if (Math.abs(estimate) < least || (low <= 0 && high >= 0)) return "same";
  return estimate > 0 ? "slower" : "faster";
}

/** Compares the runs of one row. error: probability of a false verdict. */
export function compareSides(row: BenchRow, before: Side, after: Side, error: number): Comparison {
  const medianOf = ({ runs }: Side) => (runs.length > 0 ? median(runs.map(({ medianUs }) => medianUs!)) : undefined);
  const both = { row, beforeUs: medianOf(before), afterUs: medianOf(after) };
  const none = { ...both, numBefore: before.runs.length, numAfter: after.runs.length, unit: "runs" } as const;
  if (before.runs.length === 0) return { ...none, verdict: "new" };
  if (after.failed) return { ...none, verdict: "failed" };
  if (after.runs.length === 0) return { ...none, verdict: "gone" };
  const { interval, ...numbers } = pairOf(before.runs, after.runs);
  const change = interval(error);
  return { ...both, ...numbers, change, verdict: verdictOf(change, numbers.unit) };
}

/**
 * Checks that both sides come from one device.
 *
 * @throws VdError `unsupported` for a baseline from another device
 */
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

/** Every row of the runs of one side by its key. */
export function sidesOf(files: readonly Pick<BenchFile, "rows">[]): Map<string, Side & { row: BenchRow }> {
  const sides = new Map<string, Side & { row: BenchRow }>();
  for (const row of files.flatMap(({ rows }) => rows)) {
    const side = sides.get(rowKey(row)) ?? { row, runs: [], failed: false };
    // Anything but a positive time is a failure, as results without a figure are.
    if (row.medianUs !== undefined && row.medianUs > 0) side.runs.push(row);
    else side.failed = true;
    sides.set(rowKey(row), side);
  }
  return sides;
}

/** The side of a row that was never measured. */
export const EMPTY: Side = { runs: [], failed: false };

/**
 * Compares runs with those of a baseline, row by row; the probability of a false verdict is {@link ERROR} for all rows
 * together. gone: also tell of rows that only the baseline has. force: compare results of different devices.
 *
 * @throws VdError `unsupported` for results of different devices
 */
export function compareRuns(
  baseline: readonly BenchFile[],
  current: readonly BenchFile[],
  { force = false, gone = true }: { force?: boolean; gone?: boolean } = {},
): Comparison[] {
  const { device } = current[0]!.machine;
  if (!force) for (const file of [...baseline, ...current]) requireSameDevice(file, device);
  const [before, after] = [sidesOf(baseline), sidesOf(current)];
  const keys = [...after.keys(), ...(gone ? [...before.keys()].filter((key) => !after.has(key)) : [])];
  const numCompared = keys.filter((key) => before.get(key)?.runs.length && after.get(key)?.runs.length).length;
  return keys.map((key) => {
    const { row } = (after.get(key) ?? before.get(key))!;
    return compareSides(row, before.get(key) ?? EMPTY, after.get(key) ?? EMPTY, ERROR / Math.max(numCompared, 1));
  });
}

/** True if something of ours became slower by more than noise, or no longer runs. */
export const isRegression = (comparisons: readonly Comparison[]): boolean =>
  comparisons.some(
    ({ row, verdict }) => row.contender.startsWith("ours") && (verdict === "slower" || verdict === "failed"),
  );
