import { readFile } from "node:fs/promises";
import { basename } from "node:path";
import { VdError } from "@vd/kernels-native";
import { type CliRow, isSwitch, valueError, writtenKind } from "@vd/svd-pipeline/options";
import { fileError, meantName } from "@vd/tensor";
import type { RawValue, RawValues } from "./arguments";
import { FILE_ROWS } from "./rows";

/** Names the schema of the file, for editors. */
const SCHEMA_KEY = "$schema";

/**
 * Reads a JSON config file into raw values, as if they had been typed.
 * @throws VdError `io` when it cannot be read, `attr` when it is not an object of known options.
 */
export async function readConfigFile(path: string): Promise<RawValues> {
  const name = basename(path);
  const source = await readFile(path, "utf8").catch((error: unknown) => {
    throw fileError(path, "a readable JSON file", error, "--config");
  });
  return rawValuesOf(parseObject(source, name), name);
}

/**
 * Returns the options of an object, as a config file holds them, as if they had been typed. name: the file, for errors.
 * @throws VdError `attr` for others.
 */
export function rawValuesOf(options: Readonly<Record<string, unknown>>, name: string): RawValues {
  const values = new Map<string, RawValue>();
  for (const [key, value] of Object.entries(options)) {
    if (key === SCHEMA_KEY) continue;
    const row = FILE_ROWS.get(key);
    if (row === undefined) {
      const meant = meantName(key, FILE_ROWS.keys());
      const hint = meant ? `Did you mean ${meant}?` : `It may hold: ${[...FILE_ROWS.keys()].join(", ")}`;
      throw valueError(name, "names of options only", key, hint);
    }
    const where = `${name}: ${key}`;
    values.set(key, { typed: typedOf(value, row, where), where });
  }
  return values;
}

function parseObject(source: string, name: string): Record<string, unknown> {
  let value: unknown;
  try {
    value = JSON.parse(source);
  } catch (cause) {
    const got = cause instanceof Error ? cause.message : String(cause);
    throw new VdError({ code: "attr", where: name, expected: "JSON", got, cause });
  }
  if (typeof value !== "object" || value === null || Array.isArray(value)) {
    const got = Array.isArray(value) ? "an array" : JSON.stringify(value);
    throw new VdError({ code: "attr", where: name, expected: "one JSON object", got });
  }
  return value as Record<string, unknown>;
}

/** The value as it would have been typed. */
function typedOf(value: unknown, row: CliRow, where: string): string | boolean {
  if (typeof value === "boolean" && (isSwitch(row) || writtenKind(row).kind === "booleanOrText")) return value;
  if (!isSwitch(row) && (typeof value === "string" || typeof value === "number")) return String(value);
  const expected = isSwitch(row) ? "true or false" : "a text or a number";
  throw new VdError({ code: "attr", where, expected, got: JSON.stringify(value) });
}
