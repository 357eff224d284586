import { type CliRow, helpLine, helpText, isSwitch, writtenKind } from "@vd/svd-pipeline/options";
import { type CommandSpec, FURTHER_COMMANDS, GENERATE } from "../options/commands";
import { isArgument, rowsOf } from "../options/rows";

/** What may stand at a place of the command line. */
export interface Suggestion {
  name: string;
  description: string;
}

/** Suggestions, or the files of the shell's own completion. */
export type Suggestions = readonly Suggestion[] | "files";

/**
 * Returns what may follow on a command line. words: what stands before, without the program; current: what has been
 * typed of the next word, maybe nothing.
 */
export function suggest(words: readonly string[], current: string): Suggestions {
  const { spec, rest } = commandOf(words);
  const rows = rowsOf(spec);
  const [, flag, value] = /^(--[a-z0-9-]+)=(.*)$/.exec(current) ?? [];
  if (flag !== undefined) return valuesOf(findRow(rows, flag), `${flag}=`, value!);
  const asking = findRow(rows, rest.at(-1) ?? "");
  if (asking && takesValue(asking)) return valuesOf(asking, "", current);
  if (current.startsWith("-")) return beginningWith(current, flagsOf(rows));
  const numWords = rest.filter((word, i) => !word.startsWith("-") && !isValue(rows, rest[i - 1])).length;
  const argument = rows.filter(isArgument)[numWords];
  const commands = rest.length === 0 ? beginningWith(current, commandsAfter(words)) : [];
  if (commands.length > 0 && (current !== "" || argument === undefined)) return commands;
  if (argument === undefined) return [];
  return valuesOf(argument, "", current);
}

/** The command that the words call, and what stands after its words. */
function commandOf(words: readonly string[]): { spec: CommandSpec; rest: readonly string[] } {
  const from = words[0] === "generate" ? words.slice(1) : words;
  for (const spec of FURTHER_COMMANDS) {
    const own = spec.words.split(" ");
    if (own.every((word, i) => words[i] === word)) return { spec, rest: words.slice(own.length) };
  }
  const isGroup = FURTHER_COMMANDS.some(({ words: own }) => own.startsWith(`${words[0]} `));
  return isGroup ? { spec: { words: "", doc: "", groups: [] }, rest: words.slice(1) } : { spec: GENERATE, rest: from };
}

/** Words of commands that may follow: `models`, then `list`. */
function commandsAfter(words: readonly string[]): Suggestion[] {
  const names = new Map<string, string>();
  const all = [{ words: "generate", doc: GENERATE.doc }, ...FURTHER_COMMANDS];
  for (const { words: own, doc } of all) {
    const parts = own.split(" ");
    const next = parts[words.length];
    if (next === undefined || !words.every((word, i) => parts[i] === word) || names.has(next)) continue;
    names.set(next, parts.length === words.length + 1 ? helpLine(doc) : "");
  }
  return [...names].map(([name, description]) => ({ name, description }));
}

function flagsOf(rows: readonly CliRow[]): Suggestion[] {
  const help = { name: "--help", description: "show this help" };
  const flags = rows
    .filter((row) => !isArgument(row))
    .flatMap((row) => {
      const { off } = row.form;
      const own = { name: row.name, description: helpText(row) };
      return off ? [own, { name: off.flag, description: helpLine(off.doc) }] : [own];
    });
  return [...flags, help];
}

/** Words of a choice, or files for a text. before: what stands in front of the value in the same word. */
function valuesOf(row: CliRow | undefined, before: string, typed: string): Suggestions {
  if (row === undefined) return [];
  const kind = writtenKind(row);
  if (kind.kind === "choice") {
    const names = [...kind.values, ...Object.keys(row.form.words ?? {})];
    const suggestions = names.map((name) => ({ name: `${before}${name}`, description: "" }));
    return beginningWith(`${before}${typed}`, suggestions);
  }
  return kind.kind === "text" || kind.kind === "booleanOrText" ? "files" : [];
}

function beginningWith(typed: string, suggestions: readonly Suggestion[]): Suggestion[] {
  return suggestions.filter(({ name }) => name.startsWith(typed));
}

const findRow = (rows: readonly CliRow[], word: string) =>
  rows.find((row) => !isArgument(row) && row.form.flags.split(/[ ,]+/).includes(word));

/** True for an option whose value is the next word; `--preview` takes one after `=` only. */
const takesValue = (row: CliRow) => !isSwitch(row) && writtenKind(row).kind !== "booleanOrText";

function isValue(rows: readonly CliRow[], before: string | undefined): boolean {
  const row = before === undefined ? undefined : findRow(rows, before);
  return row !== undefined && takesValue(row);
}
