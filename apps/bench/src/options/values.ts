import { VdError } from "@vd/kernels-native";

/** An error about an option's value. */
export function valueError(where: string, expected: string, got: string, hint?: string): VdError {
  return new VdError({ code: "attr", where, expected, got: JSON.stringify(got), hint });
}

/** Reads a whole number in a range. Throws VdError `attr`. */
export function integer(where: string, low: number, high: number): (text: string) => number {
  return (text) => {
    const value = Number(text);
    if (/^\d+$/.test(text) && value >= low && value <= high) return value;
    throw valueError(where, `a whole number from ${low} to ${high}`, text);
  };
}

/** Reads a 64-bit seed. Throws VdError `attr`. */
export function seed(where: string): (text: string) => bigint {
  return (text) => {
    if (/^\d{1,20}$/.test(text) && BigInt(text) < 2n ** 64n) return BigInt(text);
    throw valueError(where, "a whole number from 0 to 2^64 - 1", text);
  };
}

/** Reads one of some words. Throws VdError `attr`. */
export function choice<T extends string>(where: string, words: readonly T[]): (text: string) => T {
  return (text) => {
    const found = words.find((word) => word === text);
    if (found !== undefined) return found;
    throw valueError(where, `one of ${words.join(", ")}`, text);
  };
}

/** Reads words with commas between them, in the order of `words`; "none" is no word. Throws VdError `attr`. */
export function choices<T extends string>(where: string, words: readonly T[]): (text: string) => T[] {
  return (text) => {
    if (text === "none") return [];
    const given = text.split(",").map(choice(where, words));
    return words.filter((word) => given.includes(word));
  };
}

const MAX_SIDE = 16_384;
const SIDE_STEP = 8;

/** Reads WIDTHxHEIGHT in pixels, multiples of 8. Throws VdError `attr`. */
export function size(where: string): (text: string) => { width: number; height: number } {
  return (text) => {
    const [width = 0, height = 0] = (/^(\d+)x(\d+)$/.exec(text) ?? []).slice(1).map(Number);
    const fits = (side: number) => side >= SIDE_STEP && side <= MAX_SIDE && side % SIDE_STEP === 0;
    if (fits(width) && fits(height)) return { width, height };
    throw valueError(where, "WIDTHxHEIGHT in multiples of 8, as 1024x576", text);
  };
}
