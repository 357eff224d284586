import { VdError } from "@vd/kernels-native";
import { type CliRow, checkTable, cliRows, helpLine, helpText, readCli } from "@vd/svd-pipeline/options";
import { meantName } from "@vd/tensor";
import { Command, CommanderError, Option } from "commander";
import { type CommandSpec, EXAMPLES, EXIT_STATUSES, FURTHER_COMMANDS, PROGRAM } from "./commands";

/** What was typed: a wish to read the help or the version, or the values of all options, with defaults. */
export type ReadOptions = { kind: "text"; text: string } | { kind: "values"; values: Record<string, unknown> };

const rowsOf = ({ groups }: CommandSpec): readonly CliRow[] => groups.flatMap(({ table }) => cliRows(table));

/**
 * Reads and checks the words after a command. columns: width of the terminal, for help.
 *
 * @throws VdError `attr` for wrong usage
 */
export function readOptions(spec: CommandSpec, argv: readonly string[], version: string, columns = 80): ReadOptions {
  let printed = "";
  const command = makeCommand(spec, version).configureOutput({
    writeOut: (text) => {
      printed += text;
    },
    writeErr: () => {},
    getOutHelpWidth: () => columns,
  });
  try {
    command.parse([...argv], { from: "user" });
  } catch (error) {
    if (!(error instanceof CommanderError)) throw error;
    if (error.exitCode === 0) return { kind: "text", text: printed };
    throw usageError(spec, error);
  }
  return { kind: "values", values: valuesOf(spec, command) };
}

function makeCommand(spec: CommandSpec, version: string): Command {
  const command = new Command([PROGRAM, spec.words].join(" ").trim())
    .description(spec.doc)
    .usage("[options]")
    .allowExcessArguments(false)
    .exitOverride()
    .helpOption("-h, --help", "show this help");
  if (spec.words === "") command.version(version, "-V, --version", "show the version").addHelpText("after", helpAfter);
  for (const { title, table } of spec.groups)
    for (const row of cliRows(table))
      for (const option of optionsOf(row)) command.addOption(option.helpGroup(`${title}:`));
  return command;
}

function optionsOf(row: CliRow): Option[] {
  const { flags, off } = row.form;
  const option = new Option(flags, helpText(row, off && "default"));
  return off ? [option, new Option(off.flag, helpLine(off.doc))] : [option];
}

/** What follows the options in the help of the program. */
function helpAfter(): string {
  const commands = FURTHER_COMMANDS.map(({ words, doc }) => `  ${words.padEnd(8)}  ${helpLine(doc)}\n`).join("");
  const examples = EXAMPLES.map(([words, doc]) => `${`  ${PROGRAM} ${words}`.trimEnd()}\n      ${doc}\n`).join("");
  return `\nCommands:\n${commands}\nExamples:\n${examples}\nExit status: ${EXIT_STATUSES}.\n`;
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
  const tables = Object.assign({}, ...spec.groups.map(({ table }) => table));
  return checkTable([PROGRAM, spec.words].join(" ").trim(), tables, given);
}

function usageError(spec: CommandSpec, error: CommanderError): VdError {
  const word = /'([^']*)'/.exec(error.message)?.[1] ?? "";
  const program = [PROGRAM, spec.words].join(" ").trim();
  const attrError = (where: string, expected: string, got: string, hint?: string) =>
    new VdError({ code: "attr", where, expected, got, hint });
  if (error.code === "commander.unknownOption") {
    const names = [...rowsOf(spec).flatMap(({ name, form }) => [name, ...(form.off ? [form.off.flag] : [])]), "--help"];
    const meant = meantName(word, names);
    const hint = meant ? `Did you mean ${meant}?` : `${program} --help lists them`;
    return attrError(word, `an option of ${program}`, "an unknown one", hint);
  }
  if (error.code === "commander.optionMissingArgument")
    return attrError(/--[a-z-]+/.exec(word)?.[0] ?? word, `a value, as in ${word}`, "nothing after it");
  if (error.code === "commander.excessArguments") {
    const commands = FURTHER_COMMANDS.map(({ words }) => words).join(" or ");
    return attrError("arguments", spec.words === "" ? `options, or ${commands}` : "options only", "another word");
  }
  return attrError("arguments", `what ${program} --help shows`, error.message.replace(/^error: /, ""));
}
