/** A whole number. */
export interface IntegerKind {
  kind: "integer";
  min: number;
  max: number;
}

/** A number, whole or not. */
export interface RealKind {
  kind: "real";
  min: number;
  max: number;
}

/** A side of a picture in pixels: a multiple of the factor by which the model's autoencoder shrinks it. */
export interface SideKind {
  kind: "side";
  max: number;
}

/** A seed of 64 bits. */
export interface SeedKind {
  kind: "seed";
}

/** One of some words. */
export interface ChoiceKind<T extends string = string> {
  kind: "choice";
  values: readonly T[];
  /** The TypeScript type of the words, exported by `value-types.ts`, or `string`. */
  type: string;
  /** Further words that are taken and not listed. */
  also?: readonly string[];
}

/** Yes or no. */
export interface BooleanKind {
  kind: "boolean";
}

/** A text that is not empty, such as a path. */
export interface TextKind {
  kind: "text";
  /** What the text is, for messages: `a name`. */
  expected: string;
  /** A regular expression that it matches. */
  pattern?: string;
}

/** Yes, no, or a text that says yes and how. */
export interface BooleanOrTextKind {
  kind: "booleanOrText";
}

/** A list of numbers. */
export interface NumbersKind {
  kind: "numbers";
  /** What the numbers are, for messages: `the noise levels`. */
  what: string;
}

/** Devices of one kind that share the work. */
export interface DevicesKind {
  kind: "devices";
}

/** A value that only a program can give: a function, an object. */
export interface ObjectKind {
  kind: "object";
  /** Its TypeScript type. */
  type: string;
  /** The names in `type` that are no globals; `value-types.ts` exports them. */
  imports?: readonly string[];
  /** What it must be, for messages: `an AbortSignal`. */
  expected: string;
  hint?: string;
  /** True for a value that will do. */
  is(value: unknown): boolean;
}

/** What the value of an option may be. */
export type Kind = WrittenKind | ObjectKind;

/** The kinds whose values can be written as text or as JSON. */
export type WrittenKind =
  | IntegerKind
  | RealKind
  | SideKind
  | SeedKind
  | ChoiceKind
  | BooleanKind
  | TextKind
  | BooleanOrTextKind
  | NumbersKind
  | DevicesKind;

interface Values {
  integer: number;
  real: number;
  side: number;
  seed: bigint;
  boolean: boolean;
  text: string;
  booleanOrText: boolean | string;
  numbers: readonly number[];
  devices: readonly string[];
}

/** The TypeScript type of checked values of a kind. */
export type ValueOf<K extends WrittenKind> = K extends ChoiceKind<infer T> ? T : Values[K["kind"] & keyof Values];

/** The largest seed that a 64-bit generator takes. */
export const MAX_SEED = 2n ** 64n - 1n;

/** By how much published autoencoders shrink a side. */
export const PUBLISHED_FACTOR = 8;

/** Makes the kind of whole numbers from `min` to `max`, both included. */
export const integer = (min: number, max: number): IntegerKind => ({ kind: "integer", min, max });

/** Makes the kind of numbers from `min` to `max`, both included. */
export const real = (min: number, max: number): RealKind => ({ kind: "real", min, max });

/** Makes the kind of picture sides up to `max` pixels. */
export const side = (max: number): SideKind => ({ kind: "side", max });

/** The kind of seeds. */
export const seed: SeedKind = { kind: "seed" };

/** Makes the kind of the words in `values`. */
export const choice = <T extends string>(
  values: readonly T[],
  type = "string",
  also?: readonly string[],
): ChoiceKind<T> => ({ kind: "choice", values, type, ...(also && { also }) });

/** The kind of yes and no. */
export const boolean: BooleanKind = { kind: "boolean" };

/** Makes the kind of texts that are not empty, or that match a regular expression. */
export const text = (expected: string, pattern?: string): TextKind => ({
  ...{ kind: "text", expected },
  ...(pattern !== undefined && { pattern }),
});

/** The kind of switches that may be given a text. */
export const booleanOrText: BooleanOrTextKind = { kind: "booleanOrText" };

/** Makes the kind of lists of numbers. */
export const numbers = (what: string): NumbersKind => ({ kind: "numbers", what });

/** The kind of lists of devices: `cuda:1`, its number alone, or `cpu`. */
export const devices: DevicesKind = { kind: "devices" };

/** Makes the kind of functions of a TypeScript type. */
export const callback = (type: string, ...imports: string[]): ObjectKind => ({
  ...{ kind: "object", type, imports, expected: "a function" },
  is: (value) => typeof value === "function",
});

/** Makes the kind of objects that pass a test. */
export const object = (kind: Omit<ObjectKind, "kind">): ObjectKind => ({ kind: "object", ...kind });
