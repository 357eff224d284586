import { VdError } from "@vd/kernels-native";
import { meantName } from "@vd/tensor";
import type { FloatType, FrameSize, GuidanceRange } from "../settings";

/** Turns the text of one option into its value; `where` names the option in the message of the VdError it throws. */
export type ValueParser<T> = (text: string, where: string) => T;

/** The largest seed that a 64-bit generator takes. */
export const MAX_SEED = 2n ** 64n - 1n;

/** Largest width or height: what H.264, VP9, GIF and WebP can all store. */
const MAX_SIDE = 16_376;

const SIZE_EXAMPLE = "such as --size 128x128";

/** @returns an error about an option's value, worded for whoever typed it. */
export function valueError(where: string, expected: string, text: string, hint?: string): VdError {
  return new VdError({ code: "attr", where, expected, got: text === "" ? "nothing" : `"${text}"`, hint });
}

/** @returns a parser of whole numbers from `min` to `max`, both included. */
export function integer(min: number, max = Number.MAX_SAFE_INTEGER): ValueParser<number> {
  const expected =
    max === Number.MAX_SAFE_INTEGER ? `a whole number of at least ${min}` : `a whole number from ${min} to ${max}`;
  return (text, where) => {
    const value = Number(text);
    if (!/^[+-]?\d+$/.test(text) || !Number.isSafeInteger(value) || value < min || value > max) {
      throw valueError(where, expected, text);
    }
    return value;
  };
}

/** @returns a parser of decimal numbers from `min` to `max`, both included. */
export function decimal(min: number, max: number): ValueParser<number> {
  return (text, where) => {
    const value = decimalOf(text);
    if (value === undefined || value < min || value > max) {
      throw valueError(where, `a number from ${min} to ${max}`, text);
    }
    return value;
  };
}

/** @returns a parser that takes one of `names`, with or without capitals. */
export function choice<T extends string>(...names: readonly T[]): ValueParser<T> {
  return (text, where) => {
    const found = names.find((name) => name === text.toLowerCase());
    if (found !== undefined) return found;
    const meant = meantName(text, names);
    throw valueError(where, `one of ${names.join(", ")}`, text, meant && `Did you mean ${meant}?`);
  };
}

/** A non-empty text, such as a path. */
export const text: ValueParser<string> = (value, where) => {
  if (value === "") throw valueError(where, "a name", value);
  return value;
};

/** Number types by their long and short names. */
export const floatType: ValueParser<FloatType> = (value, where) => {
  const short: Record<string, FloatType> = { fp32: "float32", fp16: "float16", bf16: "bfloat16" };
  return short[value.toLowerCase()] ?? choice<FloatType>("float32", "float16", "bfloat16")(value, where);
};

/** `WIDTHxHEIGHT` in pixels, both multiples of 8 (the autoencoder shrinks pictures by 8). */
export const size: ValueParser<FrameSize> = (value, where) => {
  const match = /^(\d{1,7})[x×](\d{1,7})$/i.exec(value);
  if (!match) throw valueError(where, "WIDTHxHEIGHT in pixels", value, `Write two numbers, ${SIZE_EXAMPLE}`);
  const [width, height] = [Number(match[1]), Number(match[2])];
  if (width % 8 !== 0 || height % 8 !== 0 || width < 8 || height < 8) {
    const hint = `The nearest size is ${toMultipleOf8(width)}x${toMultipleOf8(height)}`;
    throw valueError(where, "a width and a height that are multiples of 8", value, hint);
  }
  if (width > MAX_SIDE || height > MAX_SIDE) throw valueError(where, `sides of at most ${MAX_SIDE} pixels`, value);
  return { width, height };
};

/** `MIN:MAX`, or one number for both. */
export const guidanceRange: ValueParser<GuidanceRange> = (value, where) => {
  const parts = value.split(":").map(decimalOf);
  const [min, max = min] = parts;
  if (parts.length > 2 || parts.includes(undefined) || min === undefined || max === undefined) {
    throw valueError(where, "MIN:MAX, two numbers", value, "Write the scale of both ends, such as --guidance 1:3");
  }
  if (min < 0 || max < min || max > 1000) {
    const hint = min > max ? `Did you mean ${max}:${min}?` : undefined;
    throw valueError(where, "MIN:MAX with 0 <= MIN <= MAX <= 1000", value, hint);
  }
  return { min, max };
};

/** A seed from 0 to 2^64 - 1, decimal or hexadecimal (0x...). */
export const seed: ValueParser<bigint> = (value, where) => {
  const wellFormed = /^(\d{1,20}|0x[0-9a-f]{1,16})$/i.test(value);
  if (!wellFormed || BigInt(value) > MAX_SEED) {
    throw valueError(where, `a whole number from 0 to ${MAX_SEED}`, value, "Leave it out for a random seed");
  }
  return BigInt(value);
};

/** Plain decimal notation only: Number() alone would also take "", "0x10" and "Infinity". */
function decimalOf(value: string): number | undefined {
  return /^[+-]?(\d+\.?\d*|\.\d+)(e[+-]?\d+)?$/i.test(value) && Number.isFinite(Number(value))
    ? Number(value)
    : undefined;
}

function toMultipleOf8(pixels: number): number {
  return Math.min(Math.max(8, Math.round(pixels / 8) * 8), MAX_SIDE);
}
