import { VdError } from "@vd/kernels-native";
import {
  type CliRow,
  checkTable,
  cliRows,
  helpLine,
  helpText,
  type OptionTable,
  readCli,
} from "@vd/svd-pipeline/options";
import { meantName } from "@vd/tensor";
import { Command, CommanderError, Option } from "commander";

/** A command of a program. */
export interface CommandSpec {
  /** The program and the command: `vd-live`, `vd-studio keys add`. */
  name: string;
  doc: string;
  /** Tables of its options; one with a title has a heading of its own in the help. */
  groups: readonly { title?: string | undefined; table: OptionTable }[];
  /** A word that follows: `<NAME>`. */
  operand?: string | undefined;
  /** What may stand in place of an option, for messages: `keys add`. */
  commands?: readonly string[] | undefined;
}

/** What the texts that are printed follow from. */
export interface PrintContext {
  /** What `--version` shows; without it there is no such option. */
  version?: string | undefined;
  /** What follows the options in the help. */
  tail?: string | undefined;
  /** Width of the terminal; default 80. */
  columns?: number | undefined;
}

/** What was typed: a wish to read the help or the version, or the values of all options, with defaults, and the operand. */
export type ReadOptions =
  | { kind: "text"; text: string }
  | { kind: "values"; values: Record<string, unknown>; operand: string | undefined };

const rowsOf = ({ groups }: CommandSpec): readonly CliRow[] => groups.flatMap(({ table }) => cliRows(table));

/**
 * Reads and checks the words after a command.
 *
 * @throws VdError `attr` for wrong usage
 * @example readOptions({ name: "vd-studio keys list", doc: "Lists keys.", groups: [{ table: KEYS_TABLE }] }, ["--data", "keys"])
 */
export function readOptions(spec: CommandSpec, argv: readonly string[], context: PrintContext = {}): ReadOptions {
  let printed = "";
  const command = makeCommand(spec, context).configureOutput({
    writeOut: (text) => {
      printed += text;
    },
    writeErr: () => {},
    getOutHelpWidth: () => context.columns ?? 80,
  });
  try {
    command.parse([...argv], { from: "user" });
  } catch (error) {
    if (!(error instanceof CommanderError)) throw error;
    if (error.exitCode === 0) return { kind: "text", text: printed };
    throw usageError(spec, error);
  }
  return { kind: "values", values: valuesOf(spec, command), operand: command.args[0] };
}

function makeCommand({ name, doc, groups, operand }: CommandSpec, { version, tail }: PrintContext): Command {
  const command = new Command(name)
    .description(doc)
    .usage(operand === undefined ? "[options]" : `[options] ${operand}`)
    .allowExcessArguments(false)
    .exitOverride()
    .helpOption("-h, --help", "show this help");
  if (operand !== undefined) command.argument(operand);
  if (version !== undefined) command.version(version, "-V, --version", "show the version");
  if (tail !== undefined) command.addHelpText("after", tail);
  for (const { title, table } of groups)
    for (const option of cliRows(table).flatMap(optionsOf))
      command.addOption(title === undefined ? option : option.helpGroup(`${title}:`));
  return command;
}

function optionsOf(row: CliRow): Option[] {
  const { flags, off } = row.form;
  const option = new Option(flags, helpText(row, off && "default"));
  return off ? [option, new Option(off.flag, helpLine(off.doc))] : [option];
}

function valuesOf(spec: CommandSpec, command: Command): Record<string, unknown> {
  const typed = command.opts<Record<string, string | boolean>>();
  const given: Record<string, unknown> = {};
  for (const row of rowsOf(spec)) {
    const attribute = new Option(row.name).attributeName();
    // An option that can be turned off is true in commander by itself: only what was typed counts.
    if (command.getOptionValueSource(attribute) === "cli")
      Object.assign(given, readCli(row, typed[attribute]!, row.name));
  }
  const values = checkTable(spec.name, Object.assign({}, ...spec.groups.map(({ table }) => table)), given);
  for (const { rows, options, name } of rowsOf(spec))
    if (rows[0]!.required && values[options[0]!] === undefined) throw attrError(name, "a value", "nothing");
  return values;
}

const attrError = (where: string, expected: string, got: string, hint?: string) =>
  new VdError({ code: "attr", where, expected, got, hint });

function usageError(spec: CommandSpec, { code, message }: CommanderError): VdError {
  const word = /'([^']*)'/.exec(message)?.[1] ?? "";
  const { name, commands = [], operand } = spec;
  if (code === "commander.unknownOption") {
    const names = [...rowsOf(spec).flatMap(({ name, form }) => [name, ...(form.off ? [form.off.flag] : [])]), "--help"];
    const meant = meantName(word, names);
    const hint = meant ? `Did you mean ${meant}?` : `${name} --help lists them`;
    return attrError(word, `an option of ${name}`, "an unknown one", hint);
  }
  if (code === "commander.optionMissingArgument")
    return attrError(/--[a-z-]+/.exec(word)?.[0] ?? word, `a value, as in ${word}`, "nothing after it");
  if (code === "commander.missingArgument")
    return attrError(operand ?? "arguments", "a word", "none", `${name} --help shows how`);
  if (code === "commander.excessArguments") {
    const expected = commands.length > 0 ? `options, or ${commands.join(" or ")}` : "options only";
    return attrError("arguments", operand === undefined ? expected : `options, and one ${operand}`, "another word");
  }
  return attrError("arguments", `what ${name} --help shows`, message.replace(/^error: /, ""));
}
