import { VdError } from "@vd/kernels-native";
import { faultOf } from "./check-value";
import { PUBLISHED_FACTOR, type RealKind, type SideKind, type ValueOf, type WrittenKind } from "./kinds";

/** Makes an error about an option's value, worded for whoever typed it. */
export function valueError(where: string, expected: string, typed: string, hint?: string): VdError {
  return new VdError({ code: "attr", where, expected, got: typed === "" ? "nothing" : `"${typed}"`, hint });
}

/**
 * Reads the text of one option and checks its value. `words`: further words for a choice.
 *
 * @throws VdError `attr` that names the option as `where` does
 */
export function readText<K extends WrittenKind>(
  kind: K,
  typed: string,
  where: string,
  words: Readonly<Record<string, string>> = {},
): ValueOf<K> {
  const value = typedValue(kind, typed, words);
  const fault = faultOf(kind, value);
  if (fault) throw valueError(where, fault.expected, typed, fault.hint);
  return value as ValueOf<K>;
}

/** The value that a text stands for; what stands for none stays a text, which no check of a number takes. */
function typedValue(kind: WrittenKind, typed: string, words: Readonly<Record<string, string>>): unknown {
  switch (kind.kind) {
    case "integer":
    case "side":
      return /^[+-]?\d+$/.test(typed) ? Number(typed) : typed;
    case "real":
      return decimalOf(typed) ?? typed;
    case "seed":
      return /^(\d{1,20}|0x[0-9a-f]{1,16})$/i.test(typed) ? BigInt(typed) : typed;
    case "choice": {
      const lower = typed.toLowerCase();
      return kind.values.find((word) => word === lower) ?? (Object.hasOwn(words, lower) ? words[lower] : typed);
    }
    case "boolean":
      return typed === "true" ? true : typed === "false" ? false : typed;
    case "numbers":
      return typed.split(",").map((item) => decimalOf(item) ?? item);
    case "devices":
      return typed.split(",").map((item) => item.trim());
    default:
      return typed;
  }
}

/** Plain decimal notation only: Number() alone would also take "", "0x10" and "Infinity". */
function decimalOf(typed: string): number | undefined {
  return /^[+-]?(\d+\.?\d*|\.\d+)(e[+-]?\d+)?$/i.test(typed) && Number.isFinite(Number(typed))
    ? Number(typed)
    : undefined;
}

/**
 * Reads `WIDTHxHEIGHT` in pixels.
 *
 * @throws VdError `attr`
 */
export function readSize({ max }: SideKind, typed: string, where: string): readonly [number, number] {
  const match = /^(\d{1,7})[x×](\d{1,7})$/i.exec(typed);
  const example = where.startsWith("--") ? `${where} 128x128` : "128x128";
  if (!match) throw valueError(where, "WIDTHxHEIGHT in pixels", typed, `Write two numbers, such as ${example}`);
  const [width, height] = [Number(match[1]), Number(match[2])];
  const fits = (pixels: number) => pixels >= PUBLISHED_FACTOR && pixels % PUBLISHED_FACTOR === 0;
  if (!fits(width) || !fits(height)) {
    const nearest = (pixels: number) =>
      Math.min(Math.max(1, Math.round(pixels / PUBLISHED_FACTOR)) * PUBLISHED_FACTOR, max);
    const hint = `The nearest size is ${nearest(width)}x${nearest(height)}`;
    throw valueError(where, `a width and a height that are multiples of ${PUBLISHED_FACTOR}`, typed, hint);
  }
  if (width > max || height > max) throw valueError(where, `sides of at most ${max} pixels`, typed);
  return [width, height];
}

/**
 * Reads `MIN:MAX`, or one number for both.
 *
 * @throws VdError `attr`
 */
export function readRange(kind: RealKind, typed: string, where: string): readonly [number, number] {
  const parts = typed.split(":").map(decimalOf);
  const [low, high = low] = parts;
  const example = where.startsWith("--") ? `${where} 1:3` : "1:3";
  if (parts.length > 2 || parts.includes(undefined) || low === undefined || high === undefined)
    throw valueError(where, "MIN:MAX, two numbers", typed, `Write the scale of both ends, such as ${example}`);
  if (faultOf(kind, low) || faultOf(kind, high) || high < low) {
    const hint = low > high ? `Did you mean ${high}:${low}?` : undefined;
    throw valueError(where, `MIN:MAX with ${kind.min} <= MIN <= MAX <= ${kind.max}`, typed, hint);
  }
  return [low, high];
}
