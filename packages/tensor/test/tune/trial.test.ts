import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { interchangeable, lowerMedian, Trial } from "../../src/tune/trial";

/** Tries every wanted variant; times: of each, the first one's again at the end. */
function run(candidates: string[], times: Record<string, number[]>, again = times[candidates[0]!]!) {
  const trial = new Trial(candidates);
  const tried: string[] = [];
  for (let name = trial.wanted; name !== undefined; name = trial.wanted) {
    tried.push(name);
    trial.measured(times[name]!);
  }
  trial.measuredAgain(again);
  return { tried, entry: trial.entry() };
}

describe("a trial", () => {
  test("takes the fastest variant and keeps every time", () => {
    const { entry } = run(["a", "b", "c"], { a: [100, 101, 99], b: [90, 80, 81], c: [120, 85.04, 85] });
    expect(entry).toEqual({ variant: "b", timesUs: { a: 100, b: 81, c: 85 } });
  });

  test.each([
    ["less than 3 % faster", [100, 100], [97.5], [100], "a"],
    ["more than 3 % faster", [100, 100], [96.5], [100], "b"],
    ["faster by less than the first one's drift", [100, 100], [90], [115], "a"],
    ["faster by more than the first one's drift", [100, 100], [80], [115], "b"],
    ["faster by less than a clock can tell", [5, 5], [4.2], [5], "a"],
    ["equally fast", [100, 100], [100], [100], "a"],
  ])("%s", (_, a, b, again, expected) => {
    expect(run(["a", "b"], { a, b }, again).entry.variant).toBe(expected);
  });

  test("gives up after a variant that is far slower", () => {
    const { tried, entry } = run(["a", "b", "c"], { a: [100], b: [151], c: [10] });
    expect(tried).toEqual(["a", "b"]);
    expect(entry).toEqual({ variant: "a", timesUs: { a: 100, b: 151 } });
  });

  test("never chooses what is slower than the device's own choice", () => {
    const times = fc.array(fc.double({ min: 1, max: 1000, noNaN: true }), { minLength: 1, maxLength: 5 });
    fc.assert(
      fc.property(fc.array(times, { minLength: 2, maxLength: 6 }), times, (lists, again) => {
        const names = lists.map((_, i) => `v${i}`);
        const { entry } = run(names, Object.fromEntries(lists.map((list, i) => [names[i], list])), again);
        const guessUs = entry.timesUs.v0!;
        expect(entry.timesUs[entry.variant]!).toBeLessThanOrEqual(guessUs);
        if (entry.variant !== "v0") expect(entry.timesUs[entry.variant]!).toBeLessThan(0.971 * guessUs);
      }),
      { numRuns: 200, seed: 11 },
    );
  });
});

test("the lower median of an even number of times is not their mean", () => {
  expect(lowerMedian([9, 1])).toBe(1);
  expect(lowerMedian([9, 1, 4])).toBe(4);
  expect(lowerMedian([9, 1, 4, 5])).toBe(4);
});

describe("variants compete", () => {
  test("with tiles of their own kind of kernel only", () => {
    const hopper = [
      "sm90_m128n256",
      "sm90_m128n128pp",
      "conv_mma_f16_m128n128",
      "conv_mma_f16_m64n64",
      "conv_plain_f16",
    ];
    expect(interchangeable(hopper, "conv")).toEqual(["sm90_m128n256", "sm90_m128n128pp"]);
    expect(interchangeable(hopper.slice(2), "conv")).toEqual(["conv_mma_f16_m128n128", "conv_mma_f16_m64n64"]);
    expect(interchangeable(["sm90_d64", "attention_mma_f16_d64", "attention_plain_f16_d512"], "attention")).toEqual([
      "sm90_d64",
    ]);
    expect(interchangeable(["sm90_d512", "sm90_masked_d512"], "attention")).toEqual(["sm90_d512"]);
  });

  test("of all tiles of the Hopper core, whoever holds the rows", () => {
    const tiles = ["sm90_m128n128ps", "sm90_r128n128", "sm90_h128n256", "linear_mma_f16_m128n128"];
    expect(interchangeable(tiles, "conv")).toEqual(tiles.slice(0, 3));
  });

  test("not at all where there are none", () => {
    expect(interchangeable([], "conv")).toEqual([]);
    // Parts of products of 8 bits are added up by each tile in a way of its own.
    const parts = ["sm90_m128n160p", "sm90_m128n160ps", "sm90_m128n128psp", "sm90_m128n256"];
    expect(interchangeable(parts, "linear_q8")).toEqual(["sm90_m128n160p"]);
    expect(interchangeable(parts.slice(1), "conv_q8")).toEqual(["sm90_m128n160ps", "sm90_m128n256"]);
    expect(interchangeable(parts, "linear")).toEqual(parts);
  });
});
