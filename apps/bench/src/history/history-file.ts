import { readFile } from "node:fs/promises";
import { VdError } from "@vd/kernels-native";
import { writeWholeFile } from "@vd/tensor";
import type { BenchRow } from "../measure/report";

/** A row of ours in the history: its median, spread and samples, or why there are none. */
export type HistoryRow = Pick<BenchRow, "suite" | "name" | "contender" | "medianUs" | "madUs" | "samplesUs" | "reason">;

/** What must be alike, beside the device, for two rows of the same name to be the same measurement. */
export interface Conditions {
  /** Instruction set, or compute capability. */
  capability: string;
  model?: string;
  precision?: string;
  threads?: number;
}

/** Results of one command at one time. */
export interface Measurement {
  /** When its command began, as ISO 8601. */
  date: string;
  device: string;
  driver: string;
  /** The commit of the build, whole; "unknown" where there was none. */
  commit: string;
  /** Hash of the device code's sources; empty where the results do not say. */
  kernelHash: string;
  /** The command of vd-bench. */
  command: string;
  conditions: Conditions;
  rows: HistoryRow[];
}

/** A row that was made slower on purpose: measurements of it before a date are no longer what it has to reach. */
export interface Acceptance {
  device: string;
  /** Suite, name and contender with a blank between them. */
  row: string;
  /** From when on measurements count, as ISO 8601. */
  since: string;
  reason: string;
}

/** All that was measured of the builds of this project, the oldest first. */
export interface History {
  format: "vd-history";
  version: 1;
  accepted: Acceptance[];
  measurements: Measurement[];
}

/** A history of nothing. */
export const emptyHistory = (): History => ({ format: "vd-history", version: 1, accepted: [], measurements: [] });

const WANTED = "a history of measurements as JSON";
const HINT = "Name a file that `vd-bench report FILES --histories DIR` wrote.";

const fail = (path: string, got: string, cause?: unknown): never => {
  throw new VdError({ code: "io", where: path, expected: WANTED, got, hint: HINT, cause });
};

const isObject = (value: unknown): value is Record<string, unknown> =>
  typeof value === "object" && value !== null && !Array.isArray(value);
const hasTexts = (value: unknown, names: readonly string[]): value is Record<string, unknown> =>
  isObject(value) && names.every((name) => typeof value[name] === "string");
const isTime = (value: unknown) => typeof value === "number" && Number.isFinite(value) && value > 0;

function isRow(row: unknown): boolean {
  if (!hasTexts(row, ["suite", "name", "contender"])) return false;
  const { medianUs, samplesUs } = row;
  return medianUs === undefined || (isTime(medianUs) && Array.isArray(samplesUs) && samplesUs.every(isTime));
}

const isDate = (value: unknown) => !Number.isNaN(Date.parse(String(value)));

function problemOf(history: Record<string, unknown>): string | undefined {
  const { format, version, accepted, measurements } = history;
  if (format !== "vd-history" || !Array.isArray(measurements) || !Array.isArray(accepted))
    return "JSON of another kind";
  if (version !== 1) return `format version ${version}`;
  const texts = ["date", "device", "driver", "commit", "kernelHash", "command"];
  for (const [i, each] of measurements.entries()) {
    if (!hasTexts(each, texts) || !isDate(each.date) || !hasTexts(each.conditions, ["capability"]))
      return `measurement ${i} without its date, device, build or conditions`;
    const row = Array.isArray(each.rows) ? each.rows.findIndex((given) => !isRow(given)) : 0;
    if (row >= 0) return `measurement ${i} with a row ${row} that is none`;
  }
  const bad = accepted.findIndex(
    (each) => !hasTexts(each, ["device", "row", "since", "reason"]) || !isDate(each.since),
  );
  return bad < 0 ? undefined : `acceptance ${bad} without device, row, since or reason`;
}

/**
 * Reads a history. ifMissing: what to return for a file that is not there; without it that is an error.
 *
 * @throws VdError `io` for what cannot be read or is none
 */
export async function readHistory(path: string, ifMissing?: History): Promise<History> {
  let text: string;
  try {
    text = await readFile(path, "utf8");
  } catch (cause) {
    const { code, message } = cause as NodeJS.ErrnoException;
    if (code === "ENOENT" && ifMissing !== undefined) return ifMissing;
    return fail(path, code === "ENOENT" ? "no such file" : message, cause);
  }
  let json: unknown;
  try {
    json = JSON.parse(text);
  } catch (cause) {
    fail(path, `no JSON (${(cause as Error).message})`, cause);
  }
  const problem = isObject(json) ? problemOf(json) : "JSON of another kind";
  if (problem !== undefined) fail(path, problem);
  return json as History;
}

/** A history as text, one line a measurement, so that a new one is one new line. */
export function historyText({ format, version, accepted, measurements }: History): string {
  const lines = (list: readonly unknown[]) => list.map((each) => `\n  ${JSON.stringify(each)}`).join(",");
  const head = `{\n "format": "${format}", "version": ${version},\n`;
  return `${head} "accepted": [${lines(accepted)}],\n "measurements": [${lines(measurements)}\n ]\n}\n`;
}

/**
 * Writes a history whole or not at all.
 *
 * @throws VdError `io`
 */
export async function saveHistory(path: string, history: History): Promise<void> {
  await writeWholeFile(path, historyText(history));
}
