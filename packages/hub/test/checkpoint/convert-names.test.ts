import { describe, expect, it } from "vitest";
import { thrownBy } from "../../../../tooling/testing/failure";
import { exportsOfPairs, requireAllNames, sourcesOfPairs } from "../../src/checkpoint/convert-names";
import { locateEntries } from "../../src/checkpoint/locate-entries";
import { layerPairs, type NamePair } from "../../src/checkpoint/name-pair";
import type { TensorEntry } from "../../src/checkpoint/tensor-source";

const entry = (name: string, ...shape: number[]): TensorEntry => ({ name, dtype: "F16", shape });
const byName = (...entries: TensorEntry[]) => new Map(entries.map((each) => [each.name, each]));

/** One tensor of q, k and v; a matrix the other way round; a 1×1 convolution. */
const PAIRS: NamePair[] = [
  { original: "qkv", diffusers: "to_q", part: { index: 0, count: 3 } },
  { original: "qkv", diffusers: "to_k", part: { index: 1, count: 3 } },
  { original: "qkv", diffusers: "to_v", part: { index: 2, count: 3 } },
  { original: "proj", diffusers: "visual_projection", transpose: true },
  { original: "mix", diffusers: "proj_in", convolution: "always" },
  { original: "skip", diffusers: "conv_shortcut", optional: true },
];
const ORIGINAL = byName(entry("qkv", 6, 5), entry("proj", 4, 7), entry("mix", 3, 2, 1, 1));

describe("locateEntries", () => {
  const parts = {
    prefixes: [
      [/^net\./, "net"],
      [/^encoder\.\d+\./, "encoder"],
    ],
    unused: [/^ema\./],
    currentName: (name: string) => name.replace("old", "new"),
  } as const;

  it("sorts by the first prefix that fits, under today's names, and lists what nothing knows", () => {
    const found = locateEntries([entry("encoder.3.old.w"), entry("net.w"), entry("ema.w"), entry("other")], parts);
    expect([...found.parts.get("encoder")!.keys()]).toEqual(["new.w"]);
    expect(found.parts.get("net")!.get("w")).toEqual(entry("net.w"));
    expect(found.unknown).toEqual(["other"]);
  });

  it("has an entry for every part", () => {
    expect([...locateEntries([], parts).parts.keys()]).toEqual(["net", "encoder"]);
  });
});

describe("sourcesOfPairs", () => {
  it("cuts, turns and flattens without reading", () => {
    const { sources, missing, unknown } = sourcesOfPairs(PAIRS, ORIGINAL);
    expect(sources.get("to_k")).toEqual({ name: "qkv", rows: [2, 4], dtype: "F16", shape: [2, 5] });
    expect(sources.get("visual_projection")).toMatchObject({ name: "proj", transpose: true, shape: [7, 4] });
    expect(sources.get("proj_in")).toMatchObject({ name: "mix", reshape: [3, 2], shape: [3, 2] });
    expect([missing, unknown]).toEqual([[], []]);
  });

  it("tells what is missing by its relative name and what is unknown by the file's", () => {
    const relative = new Map([["more", entry("net.more", 1)]]);
    const { missing, unknown } = sourcesOfPairs(layerPairs("in", "conv_in", [["0", "0"]]), relative);
    expect(missing).toEqual(["in.0.weight", "in.0.bias"]);
    expect(unknown).toEqual(["net.more"]);
  });

  it("refuses shapes that do not fit", () => {
    expect(thrownBy(() => sourcesOfPairs(PAIRS, byName(entry("qkv", 7, 5)))).expected).toContain("3 equal parts");
    expect(thrownBy(() => sourcesOfPairs(PAIRS, byName(entry("proj", 7)))).expected).toBe("two dimensions");
    expect(thrownBy(() => sourcesOfPairs(PAIRS, byName(entry("mix", 3, 2, 3, 3)))).got).toBe("[3, 2, 3, 3]");
  });
});

describe("exportsOfPairs", () => {
  it("is the way back", () => {
    const { sources } = sourcesOfPairs(PAIRS, ORIGINAL);
    const tensors = [...sources].map(([name, { shape }]) => entry(name, ...shape));
    const { exports, missing, unknown } = exportsOfPairs("net", PAIRS, tensors);
    expect([missing, unknown]).toEqual([[], []]);
    expect(exports.get("qkv")).toMatchObject({ component: "net", names: ["to_q", "to_k", "to_v"], shape: [6, 5] });
    expect([...exports].map(([name, { shape }]) => [name, shape])).toEqual(
      [...ORIGINAL].map(([name, { shape }]) => [name, shape]),
    );
  });

  it("refuses parts of different widths", () => {
    const error = thrownBy(() => exportsOfPairs("net", PAIRS, [entry("to_q", 2, 5), entry("to_k", 2, 6)]));
    expect([error.where, error.expected]).toEqual(["to_k", "the type and width of to_q"]);
  });
});

describe("requireAllNames", () => {
  it("passes where nothing is missing or unknown", () => {
    expect(requireAllNames({ missing: [], unknown: [] }, "a model", "")).toBeUndefined();
  });

  it("names the first three of each", () => {
    const error = thrownBy(() =>
      requireAllNames({ missing: ["a", "b", "c", "d"], unknown: ["x"] }, "a model", "Look."),
    );
    expect(error.message).toBe("[a] expected a model, got 4 missing tensors: a, b, c, …; 1 unknown tensors: x. Look.");
  });
});
