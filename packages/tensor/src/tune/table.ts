import { readFileSync, writeFileSync } from "node:fs";
import { PATH, requireArgument, VdError } from "@vd/kernels-native";
import { fileError } from "../files/file-error";
import { placeFileSync } from "../files/whole-file";

/** What was measured for rows of one key, and what follows from it. */
export interface TuningEntry {
  /** The variant to run. */
  variant: string;
  /** Median time of every variant that was tried, the device's own choice first: where it makes another one by now, the entry says nothing. */
  timesUs: Readonly<Record<string, number>>;
}

/** The kernel variants that suit a device, by what decides the choice. */
export interface TuningTable {
  /** The device's name as its driver has it; the table serves no other. */
  device: string;
  /** What it was measured with; a table stays valid with others, though perhaps not the best. */
  driverVersion: string;
  kernelHash: string;
  /** By the text of {@link rowKey}. */
  entries: Readonly<Record<string, TuningEntry>>;
}

function malformed(where: string, expected: string, got: string): never {
  throw new VdError({
    code: "attr",
    where,
    expected,
    got,
    hint: "Make the table anew with the program tune of the GPU pack.",
  });
}

const kindOf = (value: unknown): string =>
  value === null ? "null" : Array.isArray(value) ? "a list" : value === undefined ? "nothing" : `a ${typeof value}`;

function fields(where: string, value: unknown): Record<string, unknown> {
  if (typeof value !== "object" || value === null || Array.isArray(value)) malformed(where, "an object", kindOf(value));
  return value as Record<string, unknown>;
}

function text(where: string, value: unknown): string {
  if (typeof value !== "string") malformed(where, "a text", kindOf(value));
  return value;
}

function checkEntry(where: string, value: unknown): TuningEntry {
  const entry = fields(where, value);
  const times = fields(`${where}] [timesUs`, entry.timesUs);
  for (const [variant, time] of Object.entries(times))
    if (typeof time !== "number" || !(time >= 0))
      malformed(`${where}] [timesUs] [${variant}`, "microseconds", typeof time === "number" ? `${time}` : kindOf(time));
  return {
    variant: text(`${where}] [variant`, entry.variant),
    timesUs: Object.fromEntries(Object.entries(times)) as Record<string, number>,
  };
}

/**
 * A table from data of unknown origin. where: what errors call it.
 *
 * @throws VdError `attr` naming the field
 */
export function checkTuningTable(value: unknown, where = "tuning table"): TuningTable {
  const table = fields(where, value);
  const entries = Object.entries(fields(`${where}] [entries`, table.entries));
  return {
    device: text(`${where}] [device`, table.device),
    driverVersion: text(`${where}] [driverVersion`, table.driverVersion),
    kernelHash: text(`${where}] [kernelHash`, table.kernelHash),
    entries: Object.fromEntries(entries.map(([key, entry]) => [key, checkEntry(`${where}] [${key}`, entry)])),
  };
}

function parsed(path: string, json: string): unknown {
  try {
    return JSON.parse(json);
  } catch (error) {
    return malformed(path, "a tuning table in JSON", (error as Error).message);
  }
}

/**
 * Reads a table.
 *
 * @throws VdError `io` for a file that cannot be read, `attr` for one that is not a table
 */
export function readTuningTable(path: string): TuningTable {
  let json: string;
  try {
    json = readFileSync(path, "utf8");
  } catch (error) {
    throw fileError(path, "a tuning table", error);
  }
  return checkTuningTable(parsed(path, json), path);
}

/**
 * Writes a table, whole or not at all, its entries in order.
 *
 * @throws VdError `io`; `attr` for what is no path or no table
 */
export function writeTuningTable(path: string, table: TuningTable): void {
  requireArgument("writeTuningTable", path, PATH);
  const { device, driverVersion, kernelHash, entries: unordered } = checkTuningTable(table);
  const entries = Object.fromEntries(Object.entries(unordered).sort(([a], [b]) => (a < b ? -1 : 1)));
  const json = `${JSON.stringify({ device, driverVersion, kernelHash, entries }, null, 2)}\n`;
  placeFileSync(path, (descriptor) => writeFileSync(descriptor, json));
}
