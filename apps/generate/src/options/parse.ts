import {
  type CliRow,
  checkTable,
  GENERATE_TABLE,
  LOAD_TABLE,
  type OptionTable,
  readCli,
} from "@vd/svd-pipeline/options";
import type { Settings } from "../settings";
import { type ArgumentsContext, type RawValues, readArguments } from "./arguments";
import { type CommandSpec, GENERATE } from "./commands";
import { readConfigFile } from "./config-file";
import { ROWS, rowsOf } from "./rows";
import { OUTPUT_TABLE, RUN_TABLE } from "./tables";

/** The outcome of reading the command line: a text to print, or checked settings. */
export type Parsed =
  | { kind: "text"; text: string }
  | {
      kind: "settings";
      settings: Settings;
      /** The pictures and patterns that were typed. */
      images: readonly string[];
    };

/**
 * Reads and checks the command line of a generation and the config file it names; the command line wins.
 * @throws VdError `attr` for wrong usage, `io` for a config file that cannot be read.
 */
export async function parseArguments(argv: readonly string[], context: ArgumentsContext): Promise<Parsed> {
  const typed = readArguments(GENERATE, argv, context);
  if (typed.kind === "text") return typed;
  const { config } = valuesOf(ROWS, new Map([...typed.values].filter(([key]) => key === "config")));
  const fromFile: RawValues = config === undefined ? new Map() : await readConfigFile(config as string);
  const said: RawValues = new Map([...fromFile, ...typed.values]);
  const repeat = said.get("repeat")?.typed;
  const again = new Map(typeof repeat === "string" ? await repeated(repeat) : []);
  // A time that was typed takes the place of the number that the video has.
  if (said.has("duration")) again.delete("frames");
  const settings = settingsOf(valuesOf(ROWS, new Map([...again, ...said])));
  return { kind: "settings", settings, images: typed.words };
}

async function repeated(path: string): Promise<RawValues> {
  const { readRepeated } = await import("../repeat");
  return readRepeated(path);
}

/**
 * Reads and checks the command line of a command with one table; gives its values with all defaults, or a text to print.
 * @throws VdError `attr` for wrong usage.
 */
export function parseCommand(
  spec: CommandSpec,
  argv: readonly string[],
  context: ArgumentsContext,
): { kind: "text"; text: string } | { kind: "values"; values: Record<string, unknown> } {
  const typed = readArguments(spec, argv, context);
  if (typed.kind === "text") return typed;
  const [{ table } = { table: {} }] = spec.groups;
  return { kind: "values", values: checkTable(spec.words, table, valuesOf(rowsOf(spec), typed.values)) };
}

/**
 * The values of all options that were given.
 *
 * @throws VdError `attr` at the first that is wrong
 */
function valuesOf(rows: readonly CliRow[], raw: RawValues): Record<string, unknown> {
  return Object.assign(
    {},
    ...rows.map((row) => {
      const value = raw.get(row.key);
      return value && readCli(row, value.typed, value.where);
    }),
  );
}

function settingsOf(values: Record<string, unknown>): Settings {
  const pick = (table: OptionTable) =>
    Object.fromEntries(Object.entries(values).filter(([name]) => Object.hasOwn(table, name)));
  // The picture and the state's folder are the app's own options: names, with defaults.
  const { image: _image, resume: _resume, ...generate } = pick(GENERATE_TABLE);
  const own = (table: OptionTable) => checkTable("vd-generate", table, pick(table));
  return { ...own(RUN_TABLE), ...own(OUTPUT_TABLE), generate, load: pick(LOAD_TABLE) } as unknown as Settings;
}
