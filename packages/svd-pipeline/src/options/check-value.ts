import { VdError } from "@vd/kernels-native";
import { type DeviceList, deviceLabel, isDeviceList, MOST_DEVICES, nearestNames } from "@vd/tensor";
import { type Kind, MAX_SEED, PUBLISHED_FACTOR, type ValueOf, type WrittenKind } from "./kinds";

/** What is wrong with a value. */
export interface Fault {
  expected: string;
  hint?: string | undefined;
}

/** A list this short needs no hint. */
const SHORT_LIST = 4;

/** Finds out what is wrong with a value; undefined if nothing is. `factor`: of which sides are multiples. */
export function faultOf(kind: Kind, value: unknown, factor = PUBLISHED_FACTOR): Fault | undefined {
  if (kind.kind === "side") return sideFault(value, kind.max, factor);
  if (kind.kind === "seed") return seedFault(value);
  if (takes(kind, value)) return undefined;
  if (kind.kind === "object") return { expected: kind.expected, hint: kind.hint };
  const isLong = kind.kind === "choice" && kind.values.length > SHORT_LIST && typeof value === "string";
  const hint = isLong ? `The nearest name is ${nearestNames(value.toLowerCase(), kind.values, 1)}.` : undefined;
  return { expected: expectedOf(kind), hint };
}

function takes(kind: Exclude<Kind, { kind: "side" | "seed" }>, value: unknown): boolean {
  switch (kind.kind) {
    case "integer":
      return Number.isInteger(value) && (value as number) >= kind.min && (value as number) <= kind.max;
    case "real":
      return typeof value === "number" && value >= kind.min && value <= kind.max;
    case "choice":
      return kind.values.includes(value as string) || (kind.also?.includes(value as string) ?? false);
    case "boolean":
      return typeof value === "boolean";
    case "text":
      return typeof value === "string" && value !== "" && new RegExp(kind.pattern ?? "").test(value);
    case "booleanOrText":
      return typeof value === "boolean" || (typeof value === "string" && value !== "");
    case "devices":
      return isDeviceList(value);
    case "numbers":
      return isNumbers(value) && value.length > 0 && value.every((item) => typeof item === "number");
    case "object":
      return kind.is(value);
  }
}

type NumberList = readonly unknown[] | Float32Array | Float64Array;

const isNumbers = (value: unknown): value is NumberList =>
  Array.isArray(value) || value instanceof Float32Array || value instanceof Float64Array;

/** What values of a kind must be, in words. */
export function expectedOf(kind: Exclude<WrittenKind, { kind: "side" }>): string {
  switch (kind.kind) {
    case "integer":
      return `a whole number from ${kind.min} to ${kind.max}`;
    case "real":
      return `a number from ${kind.min} to ${kind.max}`;
    case "seed":
      return "a whole number from 0 to 2^64 − 1";
    case "choice":
      return `one of ${kind.values.join(", ")}`;
    case "boolean":
      return "true or false";
    case "text":
      return kind.expected;
    case "booleanOrText":
      return "true, false or a text";
    case "numbers":
      return `a list of numbers, ${kind.what}`;
    case "devices":
      return `a list of at most ${MOST_DEVICES} devices of one kind, such as cuda:0 and cuda:1 or their numbers`;
  }
}

function sideFault(value: unknown, max: number, factor: number): Fault | undefined {
  const range = { kind: "integer", min: factor, max } as const;
  if (!takes(range, value)) return { expected: expectedOf(range) };
  const size = value as number;
  if (size % factor === 0) return undefined;
  const below = Math.floor(size / factor) * factor;
  return { expected: `a multiple of ${factor}`, hint: `The nearest are ${below} and ${below + factor}.` };
}

function seedFault(value: unknown): Fault | undefined {
  const isWhole = typeof value === "bigint" || Number.isInteger(value);
  if (!isWhole || (value as number | bigint) < 0 || BigInt(value as number | bigint) > MAX_SEED)
    return { expected: expectedOf({ kind: "seed" }) };
  if (typeof value === "bigint" || Number.isSafeInteger(value)) return undefined;
  return { expected: "a bigint from 2^53 on, where numbers are not exact", hint: "Write it with an n at its end." };
}

/**
 * Checks a value that a program gave and gives it back in its one form: seeds as bigint, lists as arrays. `factor`: of
 * which sides are multiples.
 *
 * @throws VdError `attr` that names the option
 */
export function checkValue<K extends WrittenKind>(kind: K, where: string, value: unknown, factor?: number): ValueOf<K> {
  requireNoFault(faultOf(kind, value, factor), where, value);
  if (kind.kind === "seed") return BigInt(value as number | bigint) as ValueOf<K>;
  if (kind.kind === "numbers") return Array.from(value as ArrayLike<number>) as readonly number[] as ValueOf<K>;
  if (kind.kind === "devices") return (value as DeviceList).map(deviceLabel) as readonly string[] as ValueOf<K>;
  return value as ValueOf<K>;
}

/**
 * Refuses a value that has a fault.
 *
 * @throws VdError `attr` if there is a fault
 */
export function requireNoFault(fault: Fault | undefined, where: string, value: unknown): void {
  if (fault) throw new VdError({ code: "attr", where, ...fault, got: shown(value) });
}

/** Writes a value as a message shows it: texts in quotes, so that "8" is not taken for 8. */
export function shown(value: unknown): string {
  if (typeof value === "string") return JSON.stringify(value.slice(0, 60));
  if (Array.isArray(value)) return `a list of ${value.length}`;
  if (typeof value === "function") return "a function";
  if (typeof value === "bigint") return `${value}n`;
  return typeof value === "object" && value !== null ? "an object" : String(value);
}
