import { VdError } from "@vd/kernels-native";
import { type CliRow, cliRows, helpLine, helpText } from "@vd/svd-pipeline/options";
import { meantName } from "@vd/tensor";
import { Command, CommanderError, Option } from "commander";
import { ROWS } from "./rows";
import { GROUPS } from "./tables";

/** A value as written, and what to call it in messages: `--steps`, `config.json: steps`. */
export interface RawValue {
  typed: string | boolean;
  where: string;
}

/** Raw values by the key of their row. */
export type RawValues = ReadonlyMap<string, RawValue>;

/** What was typed: a wish to read the help or the version, or raw values. */
export type Arguments = { kind: "text"; text: string } | { kind: "values"; values: RawValues };

const isArgument = (row: CliRow) => row.form.flags.startsWith("[");
const FLAG_ROWS = ROWS.filter((row) => !isArgument(row));

/** Long names of all options, for suggestions. */
const LONG_FLAGS = [
  ...FLAG_ROWS.flatMap(({ name, form }) => (form.off ? [name, form.off.flag] : [name])),
  "--help",
  "--version",
];

/**
 * Reads the command line into raw values; nothing is checked but the names of the options.
 * @throws VdError `attr` for an unknown option, a missing value or more than one picture.
 */
export function readArguments(argv: readonly string[], version: string): Arguments {
  let printed = "";
  const command = makeCommand(version).configureOutput({
    writeOut: (text) => {
      printed += text;
    },
    writeErr: () => {},
  });
  try {
    command.parse(withPreviewValue(argv), { from: "user" });
  } catch (error) {
    if (!(error instanceof CommanderError)) throw error;
    if (error.exitCode === 0) return { kind: "text", text: printed };
    throw usageError(error);
  }
  return { kind: "values", values: rawValues(command) };
}

function makeCommand(version: string): Command {
  const command = new Command("vd-generate")
    .description("A picture in, a video out: Stable Video Diffusion on this machine.")
    .usage("[options] [IMAGE]")
    .exitOverride()
    .configureHelp({ optionTerm: (option) => option.flags.replace(" [FILE]", "[=FILE]") })
    .helpOption("-h, --help", "show this help")
    .version(version, "-V, --version", "show the version")
    .addHelpText("after", HELP_AFTER);
  for (const { title, table } of GROUPS) for (const row of cliRows(table)) addRow(command, row, `${title}:`);
  return command;
}

function addRow(command: Command, row: CliRow, title: string): void {
  const { flags, off } = row.form;
  if (isArgument(row)) {
    command.argument(flags.replace("]", "...]"), helpText(row));
    return;
  }
  command.addOption(new Option(flags, helpText(row, off && "default")).helpGroup(title));
  if (off) command.addOption(new Option(off.flag, helpLine(off.doc)).helpGroup(title));
}

const HELP_AFTER = `
Exit status: 0 done, 1 failed, 2 wrong usage, 130 stopped by Ctrl-C (a second one stops at once).
A config file holds the same names without dashes: { "image": "cat.png", "steps": 20, "guidance": "1:2" }.

Examples:
  vd-generate                                  the bundled model, its picture, out.mp4
  vd-generate cat.png -o cat.gif --seed 7
  vd-generate cat.png -m stabilityai/stable-video-diffusion-img2vid --dry-run
`;

/** `--preview` takes a value after `=` only, so that `--preview cat.png` still names the picture. */
function withPreviewValue(argv: readonly string[]): string[] {
  const end = argv.includes("--") ? argv.indexOf("--") : argv.length;
  return argv.map((word, i) => (word === "--preview" && i < end ? "--preview=" : word));
}

function rawValues(command: Command): RawValues {
  const values = new Map<string, RawValue>();
  const [image, ...more] = command.args;
  if (more.length > 0) {
    const got = `${command.args.length}: ${command.args.join(" ")}`;
    throw attrError("IMAGE", "one picture", got, "Put quotes around a name with spaces");
  }
  if (image !== undefined) values.set("image", { typed: image, where: "IMAGE" });
  const typed = command.opts<Record<string, string | boolean>>();
  for (const { key, name } of FLAG_ROWS) {
    const attribute = new Option(name).attributeName();
    // An option that can be turned off is true in commander by itself: only what was typed counts.
    if (command.getOptionValueSource(attribute) !== "cli") continue;
    const value = typed[attribute]!;
    values.set(key, { typed: key === "preview" && value === "" ? true : value, where: name });
  }
  return values;
}

function usageError(error: CommanderError): VdError {
  const word = /'([^']*)'/.exec(error.message)?.[1] ?? "";
  if (error.code === "commander.unknownOption") {
    const meant = meantName(word, LONG_FLAGS);
    const hint = meant ? `Did you mean ${meant}?` : "vd-generate --help lists them";
    return attrError(word, "an option of vd-generate", "an unknown one", hint);
  }
  if (error.code === "commander.optionMissingArgument") {
    return attrError(/--[a-z-]+/.exec(word)?.[0] ?? word, `a value, as in ${word}`, "nothing after it");
  }
  return attrError("arguments", "what vd-generate --help shows", error.message.replace(/^error: /, ""));
}

function attrError(where: string, expected: string, got: string, hint?: string): VdError {
  return new VdError({ code: "attr", where, expected, got, hint });
}
