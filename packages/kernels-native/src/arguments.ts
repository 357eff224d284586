/*
 * Checks of arguments, as a caller without types may have given anything. A function says in one line what it takes;
 * what is wrong leaves as a VdError before anything is done.
 */
import { VdError, type VdErrorDetails } from "./errors";
import { shown } from "./shown";

/** What an argument must be. */
export interface Wanted {
  /** It, in words that go on behind "expected". */
  readonly expected: string;
  readonly fits: (value: unknown) => boolean;
  /** How to come by it, as a sentence. */
  readonly hint?: string | undefined;
  /** Default `attr`. */
  readonly code?: VdErrorDetails["code"] | undefined;
}

/** Whole numbers in a range, by default those from 0 on that are exact. */
export const wholeFrom = (min = 0, max = Number.MAX_SAFE_INTEGER): Wanted => ({
  expected: max === Number.MAX_SAFE_INTEGER ? `a whole number from ${min}` : `a whole number from ${min} to ${max}`,
  fits: (value) => Number.isSafeInteger(value) && (value as number) >= min && (value as number) <= max,
});

/** Numbers of a range, both ends among them, by default all that are finite. */
export const numberFrom = (min = -Number.MAX_VALUE, max = Number.MAX_VALUE): Wanted => ({
  expected:
    max !== Number.MAX_VALUE
      ? `a number from ${min} to ${max}`
      : min === -Number.MAX_VALUE
        ? "a finite number"
        : `a finite number from ${min}`,
  fits: (value) => typeof value === "number" && value >= min && value <= max,
});

/** Sizes and counts of at least 1. */
export const COUNT: Wanted = wholeFrom(1);

/** Any finite number. */
export const FINITE: Wanted = numberFrom();

/** Any number, NaN among them: what is computed with it is a number again. */
export const NUMBER: Wanted = { expected: "a number", fits: (value) => typeof value === "number" };

/** true or false. */
export const FLAG: Wanted = { expected: "true or false", fits: (value) => typeof value === "boolean" };

/** A text, also an empty one. */
export const TEXT: Wanted = { expected: "a text", fits: (value) => typeof value === "string" };

/** The path of a file or folder. */
export const PATH: Wanted = {
  expected: "a path",
  fits: (value) => typeof value === "string" && value !== "" && !value.includes("\0"),
};

/** A function. expected: what it does, where its name does not say so. */
export const FUNCTION: Wanted = { expected: "a function", fits: (value) => typeof value === "function" };

/** An object of any members. */
export const OBJECT: Wanted = { expected: "an object", fits: (value) => typeof value === "object" && value !== null };

/** A signal that ends work. */
export const SIGNAL: Wanted = {
  expected: "an AbortSignal",
  fits: (value) => typeof (value as AbortSignal | null | undefined)?.addEventListener === "function",
};

/** A Float32Array, also one of another realm. */
export const FLOATS_32: Wanted = arrayOf("Float32Array");

/** Typed arrays of one kind, also of other realms. */
export function arrayOf(
  kind: "Float32Array" | "Float64Array" | "Int32Array" | "Uint8Array" | "Uint16Array" | "Uint32Array",
): Wanted {
  return {
    expected: `a ${kind}`,
    fits: (value) => ArrayBuffer.isView(value) && Object.prototype.toString.call(value) === `[object ${kind}]`,
  };
}

const LIST: Wanted = { expected: "a list", fits: Array.isArray };

const WANTED: WantedFields = { expected: TEXT, fits: FUNCTION };

/** One of some values. @throws VdError `attr` for what is no list */
export function oneOfThese(values: readonly unknown[]): Wanted {
  requireArgument("oneOfThese", values, LIST);
  return { expected: `one of ${values.join(", ")}`, fits: (value) => values.includes(value) };
}

/** Lists of what an item must be, of `length` of them where that is given. @throws VdError `attr` for what is no {@link Wanted} */
export function listOf(item: Wanted, length?: number): Wanted {
  requireFields("listOf", item, WANTED);
  return {
    expected: length === undefined ? `a list, each ${item.expected}` : `a list of ${length}, each ${item.expected}`,
    fits: (value) => Array.isArray(value) && (length ?? value.length) === value.length && value.every(item.fits),
  };
}

/** Sizes of a tensor. */
export const DIMS: Wanted = { ...listOf(COUNT), expected: "a list of sizes, whole numbers from 1" };

/** What has the methods or members of these names. expected: what that is. */
export const having = (expected: string, names: readonly PropertyKey[], hint?: string): Wanted => ({
  expected,
  hint,
  fits: (value) => value !== null && value !== undefined && names.every((name) => name in Object(value)),
});

/** The same, or nothing. @throws VdError `attr` for what is no {@link Wanted} */
export function optional(wanted: Wanted): Wanted {
  requireFields("optional", wanted, WANTED);
  return { ...wanted, fits: (value) => value === undefined || wanted.fits(value) };
}

/**
 * Returns if `value` is what is wanted.
 *
 * @param where the function, and the argument where it has several
 * @throws VdError `attr`, or the code that `wanted` names
 * @example
 * ```ts
 * import { COUNT, requireArgument } from "@vd/kernels-native";
 *
 * const halved = (pixels: number) => {
 *   requireArgument("halved pixels", pixels, COUNT);
 *   return Math.ceil(pixels / 2);
 * };
 * console.log(halved(5));
 * ```
 */
export function requireArgument(where: string, value: unknown, wanted: Wanted): void {
  if (wanted?.fits(value)) return;
  const { code = "attr", expected = "to be told what is wanted", hint } = wanted ?? {};
  throw new VdError({ code, where, expected, got: shown(value), hint });
}

/** What the members of an object must be, by their names; others are not looked at. */
export type WantedFields = Readonly<Record<string, Wanted>>;

/**
 * Returns if `value` is an object whose members are what is wanted.
 *
 * @param where the function, and the argument where it has several
 * @throws VdError `attr` naming the member
 */
export function requireFields(where: string, value: unknown, fields: WantedFields): void {
  requireOptions(where, value);
  for (const name of Object.keys(fields ?? {}))
    requireArgument(`${where}] [${name}`, (value as Record<string, unknown>)[name], fields[name]!);
}

/**
 * Returns if `options` is an object, as a caller without types may have given something else.
 *
 * @param where the function whose options they are
 * @throws VdError `attr`
 */
export function requireOptions(where: string, options: unknown): void {
  if (typeof options === "object" && options !== null) return;
  const got = options === null ? "null" : typeof options;
  throw new VdError({ code: "attr", where, expected: "an object of options", got });
}

/**
 * Returns if `text` is a text that is not empty, such as a path.
 *
 * @param where the argument that it is
 * @param expected what it should be, in words
 * @throws VdError `attr`
 */
export function requireText(where: string, text: unknown, expected: string): void {
  if (typeof text === "string" && text !== "") return;
  throw new VdError({ code: "attr", where, expected, got: text === "" ? "an empty text" : String(text) });
}
