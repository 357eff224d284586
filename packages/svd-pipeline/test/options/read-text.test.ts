import { isVdError } from "@vd/kernels-native";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { LOAD_TABLE } from "../../src/options/index";
import { choice, integer, numbers, real, seed, side, text, type WrittenKind } from "../../src/options/kinds";
import { readRange, readSize, readText } from "../../src/options/read-text";

const SIDE = side(16_384);
const GUIDANCE = real(0, 1000);
const SHAPES = choice(["linear", "triangle"]);

type Reader = (typed: string, where: string) => unknown;
const reader =
  (kind: WrittenKind, words?: Readonly<Record<string, string>>): Reader =>
  (typed, where) =>
    readText(kind, typed, where, words);
const size: Reader = (typed, where) => readSize(SIDE, typed, where);
const range: Reader = (typed, where) => readRange(GUIDANCE, typed, where);
const dtype = reader(LOAD_TABLE.dtype.kind, LOAD_TABLE.dtype.cli.words);

type Case = [name: string, read: Reader, text: string, value: unknown];

const accepted: Case[] = [
  ["integer", reader(integer(1, 99)), "25", 25],
  ["integer with a plus", reader(integer(1, 99)), "+3", 3],
  ["decimal", reader(real(0, 100)), ".02", 0.02],
  ["decimal with an exponent", reader(real(0, 100)), "2e-2", 0.02],
  ["choice", reader(SHAPES), "Triangle", "triangle"],
  [
    "choice that is not listed",
    reader(choice(["ddim"], "string", ["DDIMScheduler"])),
    "DDIMScheduler",
    "DDIMScheduler",
  ],
  ["float type", dtype, "float16", "float16"],
  ["short float type", dtype, "BF16", "bfloat16"],
  ["list", reader(numbers("levels")), "10,1.5,0", [10, 1.5, 0]],
  ["size", size, "1024x576", [1024, 576]],
  ["size with a capital", size, "64X48", [64, 48]],
  ["guidance", range, "1:2.5", [1, 2.5]],
  ["one guidance", range, "1.5", [1.5, 1.5]],
  ["seed", reader(seed), "18446744073709551615", 2n ** 64n - 1n],
  ["seed in hexadecimal", reader(seed), "0xff", 255n],
];

const refused: Case[] = [
  ["zero frames", reader(integer(1, 99)), "0", 'expected a whole number from 1 to 99, got "0"'],
  ["negative", reader(integer(1, 99)), "-5", 'got "-5"'],
  ["fraction", reader(integer(1, 99)), "2.5", 'got "2.5"'],
  ["empty", reader(integer(1, 99)), "", "got nothing"],
  ["hexadecimal count", reader(integer(1, 99)), "0x10", 'got "0x10"'],
  ["too large", reader(integer(1, 240)), "241", "expected a whole number from 1 to 240"],
  ["no number", reader(real(0, 100)), "much", 'expected a number from 0 to 100, got "much"'],
  ["infinite", reader(real(0, 100)), "Infinity", 'got "Infinity"'],
  ["unknown choice", reader(SHAPES), "liner", "one of linear, triangle"],
  ["a name of every object", dtype, "toString", "one of float32, float16, bfloat16"],
  ["unknown type", dtype, "float64", "one of float32, float16, bfloat16"],
  ["empty name", reader(text("a name")), "", "expected a name, got nothing"],
  ["list with a hole", reader(numbers("levels")), "10,,0", "expected a list of numbers, levels"],
  ["no size", size, "128", "expected WIDTHxHEIGHT in pixels"],
  ["negative size", size, "-128x128", "expected WIDTHxHEIGHT in pixels"],
  ["not a multiple of 8", size, "130x127", "The nearest size is 128x128"],
  ["zero size", size, "0x64", "The nearest size is 8x64"],
  ["huge", size, "80000x80000", "at most 16384"],
  ["guidance of three", range, "1:2:3", "expected MIN:MAX, two numbers"],
  ["half a guidance", range, "1:", "expected MIN:MAX, two numbers"],
  ["guidance the wrong way round", range, "3:1", "Did you mean 1:3?"],
  ["negative guidance", range, "-1:1", "0 <= MIN <= MAX"],
  ["seed too large", reader(seed), "18446744073709551616", "from 0 to 2^64 − 1"],
  ["negative seed", reader(seed), "-1", 'got "-1"'],
];

describe("texts of options", () => {
  it.each(accepted)("give a %s", (_, read, typed, value) => {
    expect(read(typed, "--x")).toEqual(value);
  });

  it.each(refused)("are refused: %s", (_, read, typed, words) => {
    expect(() => read(typed, "--x")).toThrow(expect.objectContaining({ code: "attr", where: "--x" }));
    expect(() => read(typed, "--x")).toThrow(words as string);
  });

  const readers = [reader(integer(1, 9)), reader(real(0, 9)), size, range, reader(seed), dtype];

  it("give a value or a typed error, whatever they are", () => {
    const anything = fc.oneof(fc.string(), fc.stringMatching(/^[-+\dxX:.e]{0,12}$/));
    fc.assert(
      fc.property(anything, fc.constantFrom(...readers), (typed, read) => {
        try {
          expect(read(typed, "--x")).toBeDefined();
        } catch (error) {
          expect(isVdError(error)).toBe(true);
        }
      }),
      { seed: 7, numRuns: 2000 },
    );
  });

  it("give every size that is made of multiples of 8, and say so of every other", () => {
    const pixels = fc.integer({ min: 1, max: 2000 });
    fc.assert(
      fc.property(pixels, pixels, (width, height) => {
        const isValid = width % 8 === 0 && height % 8 === 0;
        const read = () => size(`${width}x${height}`, "--size");
        if (isValid) expect(read()).toEqual([width, height]);
        else expect(read).toThrow("multiples of 8");
      }),
      { seed: 7, numRuns: 300 },
    );
  });
});
