import { DEVICE_PATTERN, MOST_DEVICES } from "@vd/tensor";
import { type CliRow, docOf, writtenKind } from "./cli";
import { PUBLISHED_FACTOR, type WrittenKind } from "./kinds";
import type { PairForm } from "./option";

/** A JSON schema, draft 2020-12. */
export type JsonSchema = Readonly<Record<string, unknown>>;

/** Texts that stand for whole numbers, for numbers, and for seeds. */
const WHOLE = "^[+-]?[0-9]+$";
const DECIMAL = "^[+-]?([0-9]+\\.?[0-9]*|\\.[0-9]+)([eE][+-]?[0-9]+)?$";
const SEED = "^([0-9]{1,20}|0[xX][0-9a-fA-F]{1,16})$";

/** A list of devices as it is typed. */
const DEVICE_TEXT = "^[a-z0-9:]+( *, *[a-z0-9:]+)*$";

const number = (type: "integer" | "number", minimum: number, maximum: number) => ({ type, minimum, maximum });
const matching = (pattern: string) => ({ type: "string", pattern });

/** The schema of an option's values in JSON. A seed beyond 2^53 is a text, since JSON numbers are not exact there. */
export function valueSchema(kind: WrittenKind): JsonSchema {
  switch (kind.kind) {
    case "integer":
      return number("integer", kind.min, kind.max);
    case "real":
      return number("number", kind.min, kind.max);
    case "side":
      return { ...number("integer", PUBLISHED_FACTOR, kind.max), multipleOf: PUBLISHED_FACTOR };
    case "seed":
      return { anyOf: [number("integer", 0, Number.MAX_SAFE_INTEGER), matching(SEED)] };
    case "choice":
      return { enum: kind.values };
    case "boolean":
      return { type: "boolean" };
    case "text":
      return kind.pattern === undefined ? { type: "string", minLength: 1 } : matching(kind.pattern);
    case "booleanOrText":
      return { anyOf: [{ type: "boolean" }, { type: "string", minLength: 1 }] };
    case "numbers":
      return { type: "array", items: { type: "number" }, minItems: 1 };
    case "devices": {
      const items = { anyOf: [number("integer", 0, 99), matching(DEVICE_PATTERN)] };
      return { type: "array", items, minItems: 1, maxItems: MOST_DEVICES };
    }
  }
}

const wordsSchema = (words: NonNullable<PairForm["words"]>) => ({ enum: Object.keys(words) });

/** The schema of what a config file may say for a form of the command line: the value, or the text that would be typed. */
function typedSchema(row: CliRow): JsonSchema {
  const kind = writtenKind(row);
  const { pair, words } = row.form;
  if (pair) {
    const texts = matching(pair.pattern);
    const others = [...(pair.takesNumber ? [valueSchema(kind)] : []), ...(pair.words ? [wordsSchema(pair.words)] : [])];
    return others.length > 0 ? { anyOf: [...others, texts] } : texts;
  }
  if (kind.kind === "choice") return { enum: [...kind.values, ...Object.keys(words ?? {})] };
  if (kind.kind === "devices") return matching(DEVICE_TEXT);
  if (kind.kind === "integer") return { anyOf: [valueSchema(kind), matching(WHOLE)] };
  if (kind.kind === "real") return { anyOf: [valueSchema(kind), matching(DECIMAL)] };
  return valueSchema(kind);
}

/** The schema of a JSON file that says what would be typed, by the keys of the rows. */
export function configSchema(title: string, rows: readonly CliRow[]): JsonSchema {
  const properties = rows.map((row) => {
    const fallback = row.form.pair ? undefined : row.rows[0]!.default;
    const value = fallback?.kind === "always" ? { default: fallback.value } : {};
    return [row.key, { description: docOf(row), ...typedSchema(row), ...value }];
  });
  return {
    $schema: "https://json-schema.org/draft/2020-12/schema",
    title,
    type: "object",
    additionalProperties: false,
    properties: { $schema: { type: "string" }, ...Object.fromEntries(properties) },
  };
}
