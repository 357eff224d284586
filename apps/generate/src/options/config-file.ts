import { readFile } from "node:fs/promises";
import { basename } from "node:path";
import { VdError } from "@vd/kernels-native";
import { fileError, meantName } from "@vd/tensor";
import type { RawValue } from "./arguments";
import { longFlag, SWITCHES, VALUE_OPTIONS } from "./table";
import { valueError } from "./values";

/** Settings names by the name in the file: the long option without dashes, or the settings name itself. */
const KEYS = new Map<string, string>([["image", "image"]]);
for (const [key, row] of Object.entries({ ...VALUE_OPTIONS, ...SWITCHES })) {
  if (key === "noOverwrite") continue;
  KEYS.set(longFlag(row).slice(2), key);
}

/**
 * Reads a JSON config file into raw values, as if they had been typed.
 * @throws VdError `io` when it cannot be read, `attr` when it is not an object of known options.
 */
export async function readConfigFile(path: string): Promise<Map<string, RawValue>> {
  const name = basename(path);
  const source = await readFile(path, "utf8").catch((error: unknown) => {
    throw fileError(path, "a readable JSON file", error, "--config");
  });
  const values = new Map<string, RawValue>();
  for (const [word, value] of Object.entries(parseObject(source, name))) {
    const key = KEYS.get(word);
    if (key === undefined) {
      const meant = meantName(word, KEYS.keys());
      const hint = meant ? `Did you mean ${meant}?` : `It may hold: ${[...KEYS.keys()].join(", ")}`;
      throw valueError(name, "names of options only", word, hint);
    }
    values.set(key, { text: textOf(value, key, `${name}: ${word}`), where: `${name}: ${word}` });
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

function textOf(value: unknown, key: string, where: string): string | boolean {
  const isSwitch = key in SWITCHES;
  if (typeof value === "boolean" && (isSwitch || key === "preview")) return value;
  if (!isSwitch && (typeof value === "string" || typeof value === "number")) return String(value);
  const expected = isSwitch ? "true or false" : "a text or a number";
  throw new VdError({ code: "attr", where, expected, got: JSON.stringify(value) });
}
