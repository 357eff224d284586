import { describe, expect, it } from "vitest";
import { editDistance, meantName } from "../src/nearest-names";

describe("editDistance", () => {
  it.each([
    ["", "", 0],
    ["abc", "abc", 0],
    ["", "abc", 3],
    ["kitten", "sitting", 3],
    ["eular", "euler", 1],
    ["setps", "steps", 1],
  ])("%s to %s is %i", (a, b, distance) => {
    expect(editDistance(a, b)).toBe(distance);
    expect(editDistance(b, a)).toBe(distance);
  });
});

describe("meantName", () => {
  const words = ["--steps", "--seed", "--size", "--sampler"];
  it.each([
    ["--stps", "--steps"],
    ["--SEED", "--seed"],
    ["--sampeler", "--sampler"],
    ["--colour", undefined],
    ["", undefined],
  ])("%s means %s", (word, meant) => {
    expect(meantName(word, words)).toBe(meant);
  });
});
