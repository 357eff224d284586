import { VdError } from "@vd/kernels-native";
import { checkTable, cliRows, helpLine, helpText, type OptionTable, readCli } from "@vd/svd-pipeline/options";
import { Command, CommanderError, Option } from "commander";
import { PROGRAM } from "./commands";

/** A command of the program. */
export interface CommandSpec {
  /** `keys add`; empty for the server. */
  words: string;
  doc: string;
  table: OptionTable;
  /** A word that follows: `<NAME>`. */
  operand?: string;
}

/** What was typed: text to print, or values of all options, with the operand. */
export type ReadWords =
  | { kind: "text"; text: string }
  | { kind: "values"; values: Record<string, unknown>; operand: string | undefined };

function commandOf({ words, doc, table, operand }: CommandSpec): Command {
  const command = new Command(`${PROGRAM} ${words}`.trim()).description(doc).exitOverride().allowExcessArguments(false);
  command.helpOption("-h, --help", "show this help");
  if (operand !== undefined) command.argument(operand);
  for (const row of cliRows(table)) {
    const { flags, off } = row.form;
    command.addOption(new Option(flags, helpText(row, off && "default")));
    if (off) command.addOption(new Option(off.flag, helpLine(off.doc)));
  }
  return command;
}

/**
 * Reads and checks the words after a command. tail: what follows the options in the help.
 *
 * @throws VdError `attr` for wrong usage
 */
export function readWords(spec: CommandSpec, argv: readonly string[], tail: string, columns = 80): ReadWords {
  let printed = "";
  const command = commandOf(spec).configureOutput({
    writeOut: (text) => {
      printed += text;
    },
    writeErr: () => {},
    getOutHelpWidth: () => columns,
  });
  try {
    command.addHelpText("after", tail).parse([...argv], { from: "user" });
  } catch (error) {
    if (!(error instanceof CommanderError)) throw error;
    if (error.exitCode === 0) return { kind: "text", text: printed };
    const expected = `what ${`${PROGRAM} ${spec.words}`.trim()} --help shows`;
    throw new VdError({ code: "attr", where: "arguments", expected, got: error.message.replace(/^error: /, "") });
  }
  const given: Record<string, unknown> = {};
  for (const row of cliRows(spec.table)) {
    const attribute = new Option(row.name).attributeName();
    // An option that can be turned off is true in commander by itself: only what was typed counts.
    if (command.getOptionValueSource(attribute) === "cli")
      Object.assign(given, readCli(row, command.opts()[attribute], row.name));
  }
  const values = checkTable(`${PROGRAM} ${spec.words}`.trim(), spec.table, given);
  for (const row of cliRows(spec.table)) {
    if (row.rows[0]!.required && values[row.options[0]!] === undefined)
      throw new VdError({ code: "attr", where: row.name, expected: "a value", got: "nothing" });
  }
  return { kind: "values", values, operand: command.args[0] };
}
