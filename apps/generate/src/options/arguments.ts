import { VdError } from "@vd/kernels-native";
import { meantName } from "@vd/tensor";
import { Command, CommanderError, Option } from "commander";
import { longFlag, SWITCHES, VALUE_OPTIONS } from "./table";

/** A value as written, and what to call it in messages: `--steps`, `config.json: steps`. */
export interface RawValue {
  text: string | boolean;
  where: string;
}

/** What was typed: a wish to read the help or the version, or the raw values by {@link Settings} name. */
export type Arguments = { kind: "text"; text: string } | { kind: "values"; values: Map<string, RawValue> };

/** Every option of the command line: the key in the settings, and its row. */
const ROWS = Object.entries({ ...VALUE_OPTIONS, ...SWITCHES });

/** Long names of all options, for suggestions. */
export const LONG_FLAGS: readonly string[] = [
  ...ROWS.map(([, row]) => longFlag(row)),
  "--config",
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
    .argument("[IMAGE...]", "the picture to animate (a sample of the bundled model)")
    .exitOverride()
    .configureHelp({ optionTerm: (option) => option.flags.replace(" [FILE]", "[=FILE]") })
    .helpOption("-h, --help", "show this help")
    .version(version, "-V, --version", "show the version")
    .option("--config <FILE>", "read options from a JSON file; what is typed wins")
    .addHelpText("after", HELP_AFTER);
  for (const [, row] of ROWS) command.addOption(new Option(row.flags, row.help));
  return command;
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

function rawValues(command: Command): Map<string, RawValue> {
  const values = new Map<string, RawValue>();
  const [image, ...more] = command.args;
  if (more.length > 0) {
    const got = `${command.args.length}: ${command.args.join(" ")}`;
    throw attrError("IMAGE", "one picture", got, "Put quotes around a name with spaces");
  }
  if (image !== undefined) values.set("image", { text: image, where: "IMAGE" });
  const typed = command.opts<Record<string, string | boolean>>();
  for (const [key, row] of [...ROWS, ["config", { flags: "--config <FILE>" }] as const]) {
    const flag = longFlag({ ...row, help: "" });
    const name = new Option(flag).attributeName();
    // `--no-overwrite` makes commander set `overwrite` to true by itself: only what was typed counts.
    if (command.getOptionValueSource(name) !== "cli" || key === "noOverwrite") continue;
    values.set(key, { text: typed[name]!, where: flag });
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
