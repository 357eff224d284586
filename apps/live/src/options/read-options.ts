import { type ReadOptions, readOptions as readLine } from "@vd/app-parts";
import { helpLine } from "@vd/svd-pipeline/options";
import { type CommandSpec, EXAMPLES, EXIT_STATUSES, FURTHER_COMMANDS, PROGRAM } from "./commands";

/** What follows the options in the help of the program. */
function helpAfter(): string {
  const commands = FURTHER_COMMANDS.map(({ words, doc }) => `  ${words.padEnd(8)}  ${helpLine(doc)}\n`).join("");
  const examples = EXAMPLES.map(([words, doc]) => `${`  ${PROGRAM} ${words}`.trimEnd()}\n      ${doc}\n`).join("");
  return `\nCommands:\n${commands}\nExamples:\n${examples}\nExit status: ${EXIT_STATUSES}.\n`;
}

/**
 * Reads and checks the words after a command. columns: width of the terminal, for help.
 *
 * @throws VdError `attr` for wrong usage
 */
export function readOptions(
  { words, doc, groups }: CommandSpec,
  argv: readonly string[],
  version: string,
  columns?: number,
): ReadOptions {
  const name = `${PROGRAM} ${words}`.trim();
  if (words !== "") return readLine({ name, doc, groups }, argv, { columns });
  const commands = FURTHER_COMMANDS.map((command) => command.words);
  return readLine({ name, doc, groups, commands }, argv, { version, columns, tail: helpAfter() });
}
