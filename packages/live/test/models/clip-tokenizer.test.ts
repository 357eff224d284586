import { readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { clipTokenizer, openTokenizer } from "../../src/index";
import { STABLE_DIFFUSION } from "../support/stable-diffusion";

const { cases } = JSON.parse(readFileSync(join(STABLE_DIFFUSION, "../stable-diffusion.json"), "utf8"));
const goldens: { prompt: string; tokens: number[] }[] = cases.tokenizer;
const tokenizer = await openTokenizer(join(STABLE_DIFFUSION, "tokenizer"), 77);
const read = (name: string) => readFileSync(join(STABLE_DIFFUSION, "tokenizer", name), "utf8");

test.each(goldens)("makes tokens of $prompt", ({ prompt, tokens }) => {
  expect(tokenizer.encode(prompt)).toEqual(tokens);
});

test("counts what a text would need, and cuts it", () => {
  const long = "the cat ".repeat(60);
  expect(tokenizer.count(long)).toBeGreaterThan(77);
  expect(tokenizer.encode(long)).toHaveLength(77);
  expect(tokenizer.count("")).toBe(2);
});

test("fills up with another token where the files say so, and finds parts that the vocabulary lacks", () => {
  const vocab = { "<|startoftext|>": 7, "<|endoftext|>": 8, "!": 0, a: 1, "b</w>": 2 };
  const other = clipTokenizer({ vocab, merges: ["#version: 0.2", "a b</w>"], pad: "!", maxTokens: 5 });
  expect(other.encode("ab")).toEqual([7, 8, 8, 0, 0]);
  expect(other.encode("b")).toEqual([7, 2, 8, 0, 0]);
});

test.each([
  [{ vocab: {} }, /token <\|startoftext\|>/],
  [{ merges: ["a b c"] }, /two parts on each line/],
  [{ pad: "[PAD]" }, /token \[PAD\]/],
  [{ maxTokens: 1 }, /two places/],
])("refuses %j", (changes, message) => {
  const files = { vocab: JSON.parse(read("vocab.json")), merges: read("merges.txt").split("\n"), maxTokens: 77 };
  expect(() => clipTokenizer({ ...files, ...changes })).toThrow(message);
});
