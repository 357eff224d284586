import {
  type CliRow,
  cliRows,
  defaultOf,
  defaultText,
  type OptionGroup,
  type OptionRow,
  rangeText,
} from "@vd/svd-pipeline/options";

const code = (text: string) => `\`${text.replaceAll("|", "\\|")}\``;

/** How a command line says an option: every flag, in code. */
function flagsText({ form }: CliRow): string {
  return [form.flags.replace(" [FILE]", "[=FILE]"), ...(form.off ? [form.off.flag] : [])].map(code).join(", ");
}

function valuesText({ kind, unit }: OptionRow): string {
  if (kind.kind === "object") return code(kind.type.replace(/^\((.*)\)$/, "$1"));
  const text = kind.kind === "choice" ? kind.values.map(code).join(", ") : rangeText(kind);
  return unit ? `${text}, in ${unit}` : text;
}

function rowOf(name: string, row: OptionRow, forms: ReadonlyMap<string, CliRow>, isApp: boolean): string {
  const form = forms.get(name);
  const fallback = form && !form.form.pair ? defaultOf(form) : defaultText(row.default);
  const [library, typed] = [code(name), form ? flagsText(form) : ""];
  const doc = row.doc.replaceAll("|", "\\|");
  const cells = [
    ...(isApp ? [] : [library]),
    typed,
    valuesText(row),
    fallback ?? (row.required ? "required" : ""),
    doc,
  ];
  return `| ${cells.join(" | ")} |`;
}

function section({ title, intro, table, isApp = false }: OptionGroup): string {
  const forms = new Map(cliRows(table).flatMap((form) => form.options.map((name) => [name, form] as const)));
  const head = [...(isApp ? [] : ["option"]), "command line", "values", "default", "meaning"];
  const rows = Object.entries(table).map(([name, row]) => rowOf(name, row, forms, isApp));
  return `## ${title}\n\n${intro}\n\n| ${head.join(" | ")} |\n|${" --- |".repeat(head.length)}\n${rows.join("\n")}\n`;
}

/** docs/options.md: every option, by group. */
export function optionsPage(groups: readonly OptionGroup[]): string {
  return `<!-- Generated from the option tables by tooling/gen-options. Do not edit. -->
# Options

Options of \`@vd/svd-pipeline\` by their names in programs, and as \`vd-generate\` takes them. A config file
(\`--config FILE.json\`) has the same names as the command line without the dashes:
\`{ "image": "cat.png", "frames": 14, "guidance": "1:2" }\`; its
[JSON schema](../apps/generate/schema/config.schema.json), named in the file as \`"$schema"\`, makes editors complete and
check it.

${groups.map(section).join("\n")}`;
}
