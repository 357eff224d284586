import { defaultText, type Kind, type OptionRow, type OptionTable, rangeText } from "@vd/svd-pipeline/options";

/** An interface over the options of a table. */
export interface InterfaceSpec {
  name: string;
  doc: string;
  table: OptionTable;
  /** `given`: what a caller may say. `values`: what is known once defaults are filled in; objects are left out.
   *  `defaults`: what suits a model. */
  form: "given" | "values" | "defaults";
}

const WIDTH = 116;

/** The TypeScript type of an option's values: as callers may give them, or as they are once checked. */
function typeOf(kind: Kind, form: InterfaceSpec["form"]): string {
  switch (kind.kind) {
    case "integer":
    case "real":
    case "side":
      return "number";
    case "seed":
      return form === "given" ? "number | bigint" : "bigint";
    case "text":
      return "string";
    case "boolean":
      return "boolean";
    case "booleanOrText":
      return "boolean | string";
    case "devices":
      return form === "given" ? "readonly (string | number)[]" : "readonly string[]";
    case "numbers":
      return form === "given" ? "readonly number[] | Float32Array | Float64Array" : "readonly number[]";
    default:
      return kind.type;
  }
}

/** The names that a type needs from elsewhere. */
function importsOf({ kind }: OptionRow): readonly string[] {
  if (kind.kind === "object") return kind.imports ?? [];
  return kind.kind === "choice" && kind.type !== "string" ? kind.type.split(" | ") : [];
}

/** What a type does not say of the values: ranges, units, the words of a choice; empty where it says all. */
function rangeSentence({ kind, unit }: OptionRow): string {
  const isTyped = kind.kind === "choice" && kind.type !== "string";
  if (
    kind.kind === "object" ||
    isTyped ||
    ["boolean", "text", "booleanOrText", "numbers", "devices"].includes(kind.kind)
  )
    return "";
  const text = rangeText(kind);
  return ` ${text[0]!.toUpperCase()}${text.slice(1)}${unit ? `, in ${unit}` : ""}.`;
}

function comment(row: OptionRow): string {
  const fallback = defaultText(row.default);
  const text = `${row.doc}${rangeSentence(row)}${fallback === undefined ? "" : ` Default: ${fallback}.`}`;
  const lines = [""];
  for (const word of text.split(" ")) {
    const line = lines.at(-1)!;
    if (line.length + word.length > WIDTH - 6) lines.push(word);
    else lines[lines.length - 1] = line === "" ? word : `${line} ${word}`;
  }
  return `  /** ${lines.join("\n   *  ")} */`;
}

const hasDefault = ({ default: given, kind }: OptionRow) =>
  given !== undefined && given.kind !== "found" && kind.kind !== "object";

function member([name, row]: [string, OptionRow], form: InterfaceSpec["form"]): string {
  const type = typeOf(row.kind, form);
  const isSure = row.required === true || (form !== "given" && hasDefault(row));
  const optional = form === "given" && !isSure ? "?" : "";
  return `${comment(row)}\n  ${name}${optional}: ${type}${isSure ? "" : " | undefined"};`;
}

const included = ({ form, table }: InterfaceSpec): [string, OptionRow][] =>
  Object.entries(table).filter(
    ([, row]) => form === "given" || (form === "values" ? row.kind.kind !== "object" : row.default?.kind === "model"),
  );

/** A module of interfaces, with the types that they need from `valueTypes`. */
export function optionTypes(specs: readonly InterfaceSpec[], from: string, valueTypes: string): string {
  const names = [...new Set(specs.flatMap((spec) => included(spec).flatMap(([, row]) => importsOf(row))))].sort();
  const imports = names.length > 0 ? `import type { ${names.join(", ")} } from "${valueTypes}";\n` : "";
  const interfaces = specs.map(
    (spec) =>
      `/** ${spec.doc} */\nexport interface ${spec.name} {\n${included(spec)
        .map((entry) => member(entry, spec.form))
        .join("\n")}\n}\n`,
  );
  return `// Generated from ${from} by tooling/generate/options. Do not edit.\n${imports}\n${interfaces.join("\n")}`;
}
