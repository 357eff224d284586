import { VdError } from "@vd/kernels-native";
import { type CliRow, cliRows, helpLine, helpText } from "@vd/svd-pipeline/options";
import { meantName } from "@vd/tensor";
import { Command, CommanderError, Option } from "commander";
import { type Paint, plainPaint } from "../report/colours";
import { type CommandSpec, EXAMPLES, EXIT_STATUSES, FURTHER_COMMANDS, PROGRAM } from "./commands";
import { isArgument, rowsOf } from "./rows";

/** A value as written, and what to call it in messages: `--steps`, `config.json: steps`. */
export interface RawValue {
  typed: string | boolean;
  where: string;
}

/** Raw values by the key of their row. */
export type RawValues = ReadonlyMap<string, RawValue>;

/** What was typed: a wish to read the help or the version, or raw values. */
export type Arguments =
  | { kind: "text"; text: string }
  | {
      kind: "values";
      values: RawValues;
      /** All words that are no options. */
      words: readonly string[];
    };

/** What decides the texts that are printed. */
export interface ArgumentsContext {
  version: string;
  /** For help. */
  paint?: Paint;
  /** Width of the terminal. */
  columns?: number | undefined;
}

/**
 * Reads the command line of a command, without the command's words, into raw values; nothing is checked but the names of
 * the options and that required words are there.
 * @throws VdError `attr` for an unknown option, a missing value or a word too many.
 */
export function readArguments(spec: CommandSpec, argv: readonly string[], context: ArgumentsContext): Arguments {
  let printed = "";
  const command = makeCommand(spec, context).configureOutput({
    writeOut: (text) => {
      printed += text;
    },
    writeErr: () => {},
    getOutHelpWidth: () => context.columns ?? 80,
    // The stream that the text goes to has decided already.
    getOutHasColors: () => true,
  });
  try {
    command.parse(withEmptyValues(spec, argv), { from: "user" });
  } catch (error) {
    if (!(error instanceof CommanderError)) throw error;
    if (error.exitCode === 0) return { kind: "text", text: printed };
    throw usageError(spec, error);
  }
  return { kind: "values", values: rawValues(spec, command), words: command.args };
}

function makeCommand(spec: CommandSpec, { version, paint = plainPaint }: ArgumentsContext): Command {
  const words = rowsOf(spec).filter(isArgument);
  const command = new Command([PROGRAM, spec.words].join(" ").trim())
    .description(spec.doc)
    .usage(["[options]", ...words.map(({ form }) => form.flags)].join(" "))
    .allowExcessArguments(true)
    .exitOverride()
    .configureHelp({
      optionTerm: (option) => option.flags.replace(/ \[(\w+)\]$/, "[=$1]"),
      styleTitle: (text) => paint("heading", text),
    })
    .helpOption("-h, --help", "show this help");
  if (spec.words === "")
    command.version(version, "-V, --version", "show the version").addHelpText("after", helpAfter(paint));
  for (const { title, table } of spec.groups) for (const row of cliRows(table)) addRow(command, row, `${title}:`);
  return command;
}

function addRow(command: Command, row: CliRow, title: string): void {
  const { flags, off, joins } = row.form;
  if (isArgument(row)) {
    // Too many words are counted, and told, by us.
    command.argument(flags.replace(/(\.\.\.)?([\]>])$/, "...$2"), helpText(row));
    return;
  }
  const option = new Option(flags, helpText(row, isOnByDefault(row) ? "default" : undefined)).helpGroup(title);
  if (joins !== undefined)
    option.argParser((value, before?: string) => (before === undefined ? value : `${before}${joins}${value}`));
  command.addOption(option);
  if (off) command.addOption(new Option(off.flag, helpLine(off.doc)).helpGroup(title));
}

/** True for a switch that is on when nothing is said. */
function isOnByDefault({ rows }: CliRow): boolean {
  const given = rows[0]!.default;
  return given?.kind === "always" && given.value === true;
}

/** What follows the options in the help of the program. */
function helpAfter(paint: Paint): string {
  const rows = (pairs: readonly (readonly [string, string])[], width: number) =>
    pairs.map(([term, doc]) => `  ${term.padEnd(width)}  ${doc}\n`).join("");
  const commands = FURTHER_COMMANDS.map(({ words, doc }) => [words, helpLine(doc)] as const);
  const examples = EXAMPLES.map(([words, doc]) => `${`  ${PROGRAM} ${words}`.trimEnd()}\n      ${doc}\n`).join("");
  return `
${paint("heading", "Commands:")}
${rows(commands, 12)}
${paint("heading", "Examples:")}
${examples}
Exit status: ${EXIT_STATUSES}.
A config file holds the same names without dashes: { "image": "cat.png", "steps": 20 }.
`;
}

/** True for `--preview [FILE]`: an option whose value may be left out. */
const mayStandAlone = ({ form }: CliRow): boolean => / \[/.test(form.flags);

/** Options whose value may be left out take it after `=` only, so that `--preview cat.png` still names the picture. */
function withEmptyValues(spec: CommandSpec, argv: readonly string[]): string[] {
  const alone = new Set(
    rowsOf(spec)
      .filter(mayStandAlone)
      .map(({ name }) => name),
  );
  const end = argv.includes("--") ? argv.indexOf("--") : argv.length;
  return argv.map((word, i) => (alone.has(word) && i < end ? `${word}=` : word));
}

function rawValues(spec: CommandSpec, command: Command): RawValues {
  const values = new Map<string, RawValue>();
  const rows = rowsOf(spec);
  const words = rows.filter(isArgument);
  if (command.args.length > words.length && !words[0]?.form.flags.includes("..."))
    throw tooManyWords(words, command.args);
  words.forEach(({ key, name }, i) => {
    const typed = command.args[i];
    if (typed !== undefined) values.set(key, { typed, where: name });
  });
  const typed = command.opts<Record<string, string | boolean>>();
  for (const row of rows.filter((row) => !isArgument(row))) {
    const { key, name } = row;
    const attribute = new Option(name).attributeName();
    // An option that can be turned off is true in commander by itself: only what was typed counts.
    if (command.getOptionValueSource(attribute) !== "cli") continue;
    const value = typed[attribute]!;
    values.set(key, { typed: mayStandAlone(row) && value === "" ? true : value, where: name });
  }
  return values;
}

function tooManyWords(words: readonly CliRow[], args: readonly string[]): VdError {
  const got = `${args.length}: ${args.join(" ")}`;
  const [first] = words;
  if (first === undefined) return attrError("arguments", "options only", got);
  return attrError(first.name, "one", got, "Put quotes around a name with spaces");
}

function usageError(spec: CommandSpec, error: CommanderError): VdError {
  const word = /'([^']*)'/.exec(error.message)?.[1] ?? "";
  const help = `${PROGRAM} ${spec.words === "" ? "" : `${spec.words} `}--help`;
  if (error.code === "commander.unknownOption") {
    const meant = meantName(word, longFlags(spec));
    const hint = meant ? `Did you mean ${meant}?` : `${help} lists them`;
    return attrError(word, `an option of ${[PROGRAM, spec.words].join(" ").trim()}`, "an unknown one", hint);
  }
  if (error.code === "commander.optionMissingArgument") {
    return attrError(/--[a-z-]+/.exec(word)?.[0] ?? word, `a value, as in ${word}`, "nothing after it");
  }
  if (error.code === "commander.missingArgument") return attrError(word, "a word", "none", `${help} shows how`);
  return attrError("arguments", `what ${help} shows`, error.message.replace(/^error: /, ""));
}

/** Long names of all options, for suggestions. */
function longFlags(spec: CommandSpec): string[] {
  const rows = rowsOf(spec).filter((row) => !isArgument(row));
  return [...rows.flatMap(({ name, form }) => (form.off ? [name, form.off.flag] : [name])), "--help", "--version"];
}

function attrError(where: string, expected: string, got: string, hint?: string): VdError {
  return new VdError({ code: "attr", where, expected, got, hint });
}
