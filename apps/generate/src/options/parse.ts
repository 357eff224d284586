import { checkTable, GENERATE_TABLE, LOAD_TABLE, type OptionTable, readCli } from "@vd/svd-pipeline/options";
import type { Settings } from "../settings";
import { type RawValues, readArguments } from "./arguments";
import { readConfigFile } from "./config-file";
import { ROWS } from "./rows";
import { OUTPUT_TABLE, RUN_TABLE } from "./tables";

/** The outcome of reading the command line: a text to print, or checked settings. */
export type Parsed = { kind: "text"; text: string } | { kind: "settings"; settings: Settings };

/**
 * Reads and checks the command line and the config file it names; the command line wins.
 * @throws VdError `attr` for wrong usage, `io` for a config file that cannot be read.
 */
export async function parseArguments(argv: readonly string[], version: string): Promise<Parsed> {
  const typed = readArguments(argv, version);
  if (typed.kind === "text") return typed;
  const { config } = valuesOf(new Map([...typed.values].filter(([key]) => key === "config")));
  const fromFile: RawValues = config === undefined ? new Map() : await readConfigFile(config as string);
  return { kind: "settings", settings: settingsOf(valuesOf(new Map([...fromFile, ...typed.values]))) };
}

/**
 * The values of all options that were given.
 *
 * @throws VdError `attr` at the first that is wrong
 */
function valuesOf(raw: RawValues): Record<string, unknown> {
  return Object.assign(
    {},
    ...ROWS.map((row) => {
      const value = raw.get(row.key);
      return value && readCli(row, value.typed, value.where);
    }),
  );
}

function settingsOf(values: Record<string, unknown>): Settings {
  const pick = (table: OptionTable) =>
    Object.fromEntries(Object.entries(values).filter(([name]) => Object.hasOwn(table, name)));
  // The picture is the app's own option: a file name, with a default.
  const { image: _, ...generate } = pick(GENERATE_TABLE);
  const own = (table: OptionTable) => checkTable("vd-generate", table, pick(table));
  return { ...own(RUN_TABLE), ...own(OUTPUT_TABLE), generate, load: pick(LOAD_TABLE) } as unknown as Settings;
}
