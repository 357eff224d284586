import type { BenchFile, BenchRow } from "../measure/report";
import { thinned } from "../stats/interval";
import type { Conditions, History, HistoryRow, Measurement } from "./history-file";

/** Samples of a row that are kept: enough to tell a change of some percent. */
const MOST_SAMPLES = 15;
/** Digits of a time that mean something. */
const DIGITS = 5;

const rounded = (us: number) => Number(us.toPrecision(DIGITS));

function rowOf({ suite, name, contender, medianUs, madUs = 0, samplesUs, reason }: BenchRow): HistoryRow {
  const key = { suite, name, contender };
  if (medianUs === undefined || !(medianUs > 0)) return { ...key, reason: reason ?? "no time" };
  const samples = thinned(samplesUs ?? [medianUs], MOST_SAMPLES);
  return { ...key, medianUs: rounded(medianUs), madUs: rounded(madUs), samplesUs: samples.map(rounded) };
}

/** "COMMIT, kernels HASH", as results tell the build, in its two parts. */
export function buildOf(text: string): { commit: string; kernelHash: string } {
  const [commit = "unknown", kernelHash = ""] = text.split(", kernels ");
  return { commit, kernelHash };
}

function conditionsOf({ machine, options }: BenchFile): Conditions {
  const { model, precision, threads } = options;
  return {
    capability: machine.capability,
    ...(typeof model === "string" ? { model } : {}),
    ...(typeof precision === "string" ? { precision } : {}),
    ...(typeof threads === "number" ? { threads } : {}),
  };
}

/** What a history keeps of results: our own rows. */
export function measurementOf(file: BenchFile): Measurement {
  const { machine, createdAt, command, rows } = file;
  return {
    date: createdAt,
    ...{ device: machine.device, driver: machine.driver, ...buildOf(machine.commit), command },
    conditions: conditionsOf(file),
    rows: rows.filter(({ contender }) => contender.startsWith("ours")).map(rowOf),
  };
}

/** What makes two measurements the same. */
export const measurementKey = ({ device, command, date }: Measurement): string => `${device} ${command} ${date}`;

/** The history with those of some results that it does not have yet, in the order of their dates. Results without rows of ours
 *  are none. */
export function withResults(history: History, files: readonly BenchFile[]): History {
  const known = new Set(history.measurements.map(measurementKey));
  const added: Measurement[] = [];
  for (const measurement of files.map(measurementOf)) {
    if (measurement.rows.length === 0 || known.has(measurementKey(measurement))) continue;
    known.add(measurementKey(measurement));
    added.push(measurement);
  }
  const measurements = [...history.measurements, ...added].sort((a, b) => Date.parse(a.date) - Date.parse(b.date));
  return { ...history, measurements };
}
