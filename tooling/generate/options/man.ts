import {
  type CliRow,
  cliRows,
  defaultOf,
  docOf,
  type OptionGroup,
  rangeText,
  writtenKind,
} from "@vd/svd-pipeline/options";

/** What the manual page says of a command. */
export interface ManCommand {
  /** Words that call it; empty for the command that needs none. */
  words: string;
  doc: string;
  groups: readonly OptionGroup[];
}

/** What a manual page is made of. */
export interface ManSpec {
  program: string;
  /** Another name that the program is installed under, if there is one. */
  alias?: string;
  main: ManCommand;
  further: readonly ManCommand[];
  examples: readonly (readonly [words: string, doc: string])[];
  exitStatuses: string;
  /** True for a program that takes a config file. */
  hasConfigFile?: boolean;
}

/** A text for roff: nothing in it is taken for a request or an escape. Source: groff_man(7), groff_char(7). */
function roff(text: string): string {
  const escaped = text.replaceAll("\\", "\\e").replaceAll("-", "\\-").replaceAll("`", "").replaceAll("−", "\\-");
  return escaped.replaceAll("×", "\\(mu").replace(/^([.'])/gm, "\\&$1");
}

const bold = (text: string) => `\\fB${roff(text)}\\fR`;

/** `\fB-o\fR, \fB--output\fR FILE`. */
function flagsOf({ form }: CliRow): string {
  const flags = form.flags.replace(" [FILE]", "[=FILE]").replace(/(--?[a-z-]+)/gi, (flag) => `\\fB${flag}\\fR`);
  const off = form.off ? `, \\fB${form.off.flag}\\fR` : "";
  return `${flags}${off}`.replaceAll("-", "\\-");
}

function paragraph(row: CliRow): string {
  const kind = writtenKind(row);
  const fallback = defaultOf(row);
  const isSelfEvident = ["boolean", "text", "booleanOrText"].includes(kind.kind) || row.form.pair !== undefined;
  const values = isSelfEvident ? "" : ` Values: ${rangeText(kind)}.`;
  const isOff = fallback === undefined || fallback === "false";
  return `.TP\n${flagsOf(row)}\n${roff(`${docOf(row)}${values}${isOff ? "" : ` Default: ${fallback}.`}`)}\n`;
}

function usage(program: string, { words, groups }: ManCommand): string {
  const places = groups.flatMap(({ table }) => cliRows(table)).filter(({ form }) => /^[[<]/.test(form.flags));
  const rest = places.map(({ form }) => `\\fI${roff(form.flags)}\\fR`).join(" ");
  return `${bold([program, words].join(" ").trim())} [\\fIoptions\\fR] ${rest}`.trimEnd();
}

const section = (title: string, body: string) => `.SH ${title.toUpperCase()}\n${body}`;

const CONFIG_FILE =
  "--config FILE.json reads the same options by their long names without dashes; what is typed wins. A $schema key may name schema/config.schema.json of the package, for editors.";

/** Returns the manual page of a program, section 1, for man(7). */
export function manPage(spec: ManSpec): string {
  const { program, alias, main, further, examples, exitStatuses, hasConfigFile = false } = spec;
  const options = main.groups
    .map(({ title, table }) => `.SS ${title}\n${cliRows(table).map(paragraph).join("")}`)
    .join("");
  const commands = further
    .map((command) => {
      const rows = command.groups.flatMap(({ table }) => cliRows(table)).map(paragraph);
      return `.SS ${roff(command.words)}\n${roff(command.doc)}\n.PP\n${usage(program, command)}\n${rows.join("")}`;
    })
    .join("");
  const shown = examples.map(([words, doc]) => `.TP\n${bold(`${program} ${words}`.trim())}\n${roff(doc)}\n`).join("");
  const statuses = exitStatuses.split(", ").map((status) => {
    const [number, ...words] = status.split(" ");
    return `.TP\n${bold(number!)}\n${roff(words.join(" "))}\n`;
  });
  return [
    '.\\" Generated from the option tables by pnpm gen. Do not edit.\n',
    `.TH ${program.toUpperCase().replaceAll("-", "\\-")} 1\n`,
    section("Name", `${roff([program, alias].filter(Boolean).join(", "))} \\- ${roff(main.doc.replace(/\.$/, ""))}\n`),
    section("Synopsis", `${usage(program, main)}\n${further.map((each) => `.br\n${usage(program, each)}\n`).join("")}`),
    section("Options", options),
    section("Commands", commands),
    hasConfigFile ? section("Config file", `${roff(CONFIG_FILE)}\n`) : "",
    section("Exit status", statuses.join("")),
    section("Examples", shown),
  ].join("");
}
