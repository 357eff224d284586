import { expectedOf } from "./check-value";
import type { WrittenKind } from "./kinds";
import { type CliForm, defaultText, type OptionRow, type OptionTable } from "./option";
import { readText } from "./read-text";

/** One form of a command line and the options that it sets: one, or the two of a pair. */
export interface CliRow {
  form: CliForm;
  /** What messages call it: `--frames`, `IMAGE`. */
  name: string;
  /** What config files call it: `frames`, `image`. */
  key: string;
  /** Names of the options. */
  options: readonly string[];
  rows: readonly OptionRow[];
}

/** The options of a table that a command line has, in the order of the table; those with one form stand together. */
export function cliRows(table: OptionTable): CliRow[] {
  const rows = new Map<CliForm, { options: string[]; rows: OptionRow[] }>();
  for (const [name, row] of Object.entries(table)) {
    if (!row.cli) continue;
    const entry = rows.get(row.cli) ?? { options: [], rows: [] };
    rows.set(row.cli, { options: [...entry.options, name], rows: [...entry.rows, row] });
  }
  return [...rows].map(([form, entry]) => ({ form, ...namesOf(form), ...entry }));
}

function namesOf({ flags }: CliForm): { name: string; key: string } {
  const name = /--[a-z][a-z0-9-]*/.exec(flags)?.[0] ?? flags.replace(/[[\]<>]|\.\.\./g, "");
  return { name, key: name.replace(/^--/, "").toLowerCase() };
}

/** The option's kind; a command line has none that only programs can give. */
export function writtenKind(row: CliRow): WrittenKind {
  const { kind } = row.rows[0]!;
  if (kind.kind === "object") throw new TypeError(`${row.name}: an option of a command line is a text`);
  return kind;
}

/** True for a form without a value. */
export const isSwitch = (row: CliRow): boolean => writtenKind(row).kind === "boolean";

/**
 * Reads what was typed into values by option.
 *
 * @throws VdError `attr` that names the option as `where` does
 */
export function readCli(row: CliRow, typed: string | boolean, where: string): Record<string, unknown> {
  const [first, second] = row.options;
  if (typeof typed === "boolean") return { [first!]: typed };
  const { pair, words } = row.form;
  if (!pair) return { [first!]: readText(writtenKind(row), typed, where, words) };
  const other = pair.words?.[typed.toLowerCase()];
  if (other) return { ...other };
  const [a, b] = pair.read(typed, where);
  return { [first!]: a, [second!]: b };
}

/** Writes the values of a form's options as they would be typed; the other way round of {@link readCli}. */
export function writeCli(row: CliRow, values: readonly unknown[]): string {
  const { pair } = row.form;
  return pair ? pair.write(values[0] as number, values[1] as number) : String(values[0]);
}

/** What the option is for, in sentences. */
export const docOf = ({ form, rows }: CliRow): string => form.doc ?? rows[0]!.doc;

/** The default in words; undefined where there is none. */
export const defaultOf = ({ form, rows }: CliRow): string | undefined => form.default ?? defaultText(rows[0]!.default);

/** A sentence as a line of help: without its end, without code marks, in lower case. */
export function helpLine(sentences: string): string {
  const [first = ""] = sentences.split(/\.(?:\s|$)/);
  const words = first.replaceAll("`", "");
  return /^[A-Z][a-z\s]/.test(words) ? words[0]!.toLowerCase() + words.slice(1) : words;
}

/** What the help of a command line says: the first sentence, the words of a choice, the default. `fallback`: the default
 *  in words, empty to leave it out. */
export function helpText(row: CliRow, fallback = defaultOf(row) ?? ""): string {
  const words = helpLine(docOf(row));
  const kind = writtenKind(row);
  const isListed = kind.kind !== "choice" || kind.values.every((word) => words.includes(word));
  const list = isListed ? "" : `; ${expectedOf(kind)}`;
  return `${words}${list}${fallback === "" || fallback === "false" ? "" : ` (${fallback})`}`;
}
