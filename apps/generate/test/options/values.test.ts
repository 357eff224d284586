import { isVdError } from "@vd/kernels-native";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import * as values from "../../src/options/values";

type Case = [name: string, parse: values.ValueParser<unknown>, text: string, value: unknown];

const accepted: Case[] = [
  ["integer", values.integer(1), "25", 25],
  ["integer with a plus", values.integer(1), "+3", 3],
  ["decimal", values.decimal(0, 100), ".02", 0.02],
  ["decimal with an exponent", values.decimal(0, 100), "2e-2", 0.02],
  ["choice", values.choice("linear", "triangle"), "Triangle", "triangle"],
  ["float type", values.floatType, "float16", "float16"],
  ["short float type", values.floatType, "BF16", "bfloat16"],
  ["size", values.size, "1024x576", { width: 1024, height: 576 }],
  ["size with a capital", values.size, "64X48", { width: 64, height: 48 }],
  ["guidance", values.guidanceRange, "1:2.5", { min: 1, max: 2.5 }],
  ["one guidance", values.guidanceRange, "1.5", { min: 1.5, max: 1.5 }],
  ["seed", values.seed, "18446744073709551615", 2n ** 64n - 1n],
  ["seed in hexadecimal", values.seed, "0xff", 255n],
];

const refused: Case[] = [
  ["zero frames", values.integer(1), "0", 'expected a whole number of at least 1, got "0"'],
  ["negative", values.integer(1), "-5", 'got "-5"'],
  ["fraction", values.integer(1), "2.5", 'got "2.5"'],
  ["empty", values.integer(1), "", "got nothing"],
  ["hexadecimal count", values.integer(1), "0x10", 'got "0x10"'],
  ["too large", values.integer(1, 120), "121", "expected a whole number from 1 to 120"],
  ["beyond safe", values.integer(1), "99999999999999999999", "at least 1"],
  ["no number", values.decimal(0, 100), "much", 'expected a number from 0 to 100, got "much"'],
  ["infinite", values.decimal(0, 100), "Infinity", 'got "Infinity"'],
  ["unknown choice", values.choice("linear", "triangle"), "liner", "one of linear, triangle"],
  ["unknown type", values.floatType, "float64", "one of float32, float16, bfloat16"],
  ["no size", values.size, "128", "expected WIDTHxHEIGHT in pixels"],
  ["negative size", values.size, "-128x128", "expected WIDTHxHEIGHT in pixels"],
  ["not a multiple of 8", values.size, "130x127", "The nearest size is 128x128"],
  ["zero size", values.size, "0x64", "The nearest size is 8x64"],
  ["huge", values.size, "80000x80000", "at most 16376"],
  ["guidance of three", values.guidanceRange, "1:2:3", "expected MIN:MAX, two numbers"],
  ["half a guidance", values.guidanceRange, "1:", "expected MIN:MAX, two numbers"],
  ["guidance the wrong way round", values.guidanceRange, "3:1", "Did you mean 1:3?"],
  ["negative guidance", values.guidanceRange, "-1:1", "0 <= MIN <= MAX"],
  ["seed too large", values.seed, "18446744073709551616", "from 0 to 18446744073709551615"],
  ["negative seed", values.seed, "-1", 'got "-1"'],
];

describe("values", () => {
  it.each(accepted)("takes a %s", (_, parse, text, value) => {
    expect(parse(text, "--x")).toEqual(value);
  });

  it.each(refused)("refuses %s", (_, parse, text, words) => {
    expect(() => parse(text, "--x")).toThrow(expect.objectContaining({ code: "attr", where: "--x" }));
    expect(() => parse(text, "--x")).toThrow(words as string);
  });

  const parsers = [
    values.integer(1),
    values.decimal(0, 9),
    values.size,
    values.guidanceRange,
    values.seed,
    values.floatType,
  ];

  it("answers any text with a value or a typed error", () => {
    const anything = fc.oneof(fc.string(), fc.stringMatching(/^[-+\dxX:.e]{0,12}$/));
    fc.assert(
      fc.property(anything, fc.constantFrom(...parsers), (text, parse) => {
        try {
          expect(parse(text, "--x")).toBeDefined();
        } catch (error) {
          expect(isVdError(error)).toBe(true);
        }
      }),
      { seed: 7, numRuns: 2000 },
    );
  });

  it("takes every size that is made of multiples of 8, and says so of every other", () => {
    const side = fc.integer({ min: 1, max: 2000 });
    fc.assert(
      fc.property(side, side, (width, height) => {
        const isValid = width % 8 === 0 && height % 8 === 0;
        const parse = () => values.size(`${width}x${height}`, "--size");
        if (isValid) expect(parse()).toEqual({ width, height });
        else expect(parse).toThrow("multiples of 8");
      }),
      { seed: 7, numRuns: 300 },
    );
  });
});
