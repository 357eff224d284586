import type { OptionRow, OptionValue } from "../api/types";
import { nameWords } from "../ui/words";

/** What a text says as the value of an option, or what is wrong with it. Undefined without a fault is the default. */
export interface ReadOption {
  value?: OptionValue | undefined;
  fault?: string;
}

function rangeWords({ min, max, multipleOf }: OptionRow): string {
  const range = min !== null && max !== null ? ` from ${min} to ${max}` : max !== null ? ` up to ${max}` : "";
  return `${range}${multipleOf === null ? "" : `, a multiple of ${multipleOf}`}`;
}

function readNumber(row: OptionRow, text: string): ReadOption {
  const value = Number(text);
  const isWhole = row.kind !== "real";
  const fits =
    Number.isFinite(value) &&
    (!isWhole || Number.isInteger(value)) &&
    (row.min === null || value >= row.min) &&
    (row.max === null || value <= row.max) &&
    (row.multipleOf === null || value % row.multipleOf === 0);
  const kind = isWhole ? "a whole number" : "a number";
  return fits ? { value } : { fault: `${nameWords(row.name)} is ${kind}${rangeWords(row)}.` };
}

function readNumbers(row: OptionRow, text: string): ReadOption {
  const value = text.split(/[\s,;]+/).map(Number);
  return value.every(Number.isFinite)
    ? { value }
    : { fault: `${nameWords(row.name)} are numbers with commas between them.` };
}

/** Reads what was typed into the field of an option; the server checks it again. */
export function readOption(row: OptionRow, text: string): ReadOption {
  const trimmed = text.trim();
  if (trimmed === "") return { value: undefined };
  switch (row.kind) {
    case "integer":
    case "real":
    case "side":
      return readNumber(row, trimmed);
    case "numbers":
      return readNumbers(row, trimmed);
    case "seed":
      return /^\d+$/.test(trimmed) ? { value: trimmed } : { fault: `${nameWords(row.name)} is a whole number.` };
    case "booleanOrText":
      return { value: trimmed === "true" ? true : trimmed === "false" ? false : trimmed };
    default:
      return row.pattern === null || new RegExp(row.pattern).test(trimmed)
        ? { value: trimmed }
        : { fault: `${nameWords(row.name)} is not of the form that is described below.` };
  }
}
