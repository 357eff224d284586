import { type ReadOptions, readOptions } from "@vd/app-parts";
import type { OptionTable } from "@vd/svd-pipeline/options";
import { KEY_ADD_TABLE, KEYS_TABLE, SERVE_TABLE, WORKER_TABLE } from "./tables";

/** A command of the program. */
export interface CommandSpec {
  /** `keys add`; empty for the server. */
  words: string;
  doc: string;
  table: OptionTable;
  /** A word that follows: `<NAME>`. */
  operand?: string;
}

/** What serves the page and the API. */
export const SERVE: CommandSpec = {
  words: "",
  doc: "A page to make videos with, an HTTP API to build on, and a queue.",
  table: SERVE_TABLE,
};

/** What works for servers of other machines. */
export const WORKER: CommandSpec = {
  words: "worker",
  doc: "Makes videos from the queue of other machines.",
  table: WORKER_TABLE,
};

/** What is done with keys. */
export const KEYS_ADD: CommandSpec = {
  words: "keys add",
  doc: "Makes a key and shows it, once.",
  table: KEY_ADD_TABLE,
  operand: "<name>",
};
export const KEYS_LIST: CommandSpec = { words: "keys list", doc: "Lists keys.", table: KEYS_TABLE };
export const KEYS_REMOVE: CommandSpec = {
  words: "keys rm",
  doc: "Takes a key away.",
  table: KEYS_TABLE,
  operand: "<id>",
};
export const KEYS_SECRET: CommandSpec = {
  words: "keys secret",
  doc: "Shows the secret that signs the webhooks of a key; local for those that were asked for without a key.",
  table: KEYS_TABLE,
  operand: "<id>",
};

/** Every command but the server. */
export const FURTHER_COMMANDS: readonly CommandSpec[] = [WORKER, KEYS_ADD, KEYS_LIST, KEYS_REMOVE, KEYS_SECRET];

/** What the program is called in messages and help. */
export const PROGRAM = "vd-studio";

/** Exit statuses of every command, by what happened. */
export const EXIT_STATUSES = "0 done or stopped, 1 failed, 2 wrong usage, 130 stopped by a second Ctrl-C";

/** Command lines to begin with, and what they do. */
export const EXAMPLES: readonly (readonly [words: string, doc: string])[] = [
  ["", "the page and the API at http://localhost:8585, with the bundled tiny-svd"],
  ["--device cuda --gpus 0,1 --model stabilityai/stable-video-diffusion-img2vid-xt", "two GPUs, a worker on each"],
  ["keys add ana", "a key, which others need"],
  ["worker --redis redis://HOST:6379 --data /mnt/videos", "makes videos for the servers of other machines"],
];

const HELP_TAIL = `\nCommands:\n${FURTHER_COMMANDS.map(({ words, operand, doc }) => `  ${`${words} ${operand ?? ""}`.padEnd(18)} ${doc}\n`).join("")}`;

/**
 * Reads and checks the words after a command. columns: width of the terminal, for help.
 *
 * @throws VdError `attr` for wrong usage
 */
export function readWords(
  { words, doc, table, operand }: CommandSpec,
  argv: readonly string[],
  columns?: number,
): ReadOptions {
  const name = `${PROGRAM} ${words}`.trim();
  const commands = words === "" ? FURTHER_COMMANDS.map((command) => command.words) : [];
  const tail = words === "" ? HELP_TAIL : undefined;
  return readOptions({ name, doc, groups: [{ table }], operand, commands }, argv, { tail, columns });
}
