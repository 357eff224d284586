import { expect, test } from "vitest";
import { cosineSimilarity, SimilarityFilter } from "../../src/session/similarity-filter";

const picture = (...values: number[]) => Float32Array.from(values);

test("the cosine is that of the angle; grey pictures have none", () => {
  expect(cosineSimilarity(picture(1, 0), picture(1, 1))).toBeCloseTo(Math.SQRT1_2, 7);
  expect(cosineSimilarity(picture(1, 2), picture(-2, -4))).toBeCloseTo(-1, 7);
  expect(cosineSimilarity(picture(0, 0), picture(0, 0))).toBe(1);
  expect(cosineSimilarity(picture(0, 0), picture(0, 1))).toBe(0);
});

test("frames are left out by a chance that grows with the similarity", () => {
  // cos = 0.8 between the two: a threshold of 0.6 gives a chance of one half.
  const [a, b] = [picture(1, 0), picture(0.8, 0.6)];
  for (const [random, expected] of [
    [0.49, true],
    [0.51, false],
  ] as const) {
    const filter = new SimilarityFilter({ threshold: 0.6 }, 0, () => random);
    expect(filter.isSame(a)).toBe(false);
    expect(filter.isSame(b)).toBe(expected);
  }
  const strict = new SimilarityFilter({ threshold: 1 }, 0, () => 0);
  expect([strict.isSame(a), strict.isSame(a)]).toEqual([false, false]);
});

test("pictures are compared with the last one that was made, at most so many are left out, and a restart forgets", () => {
  const filter = new SimilarityFilter({ threshold: 0, maxSkip: 2 }, 0, () => 0);
  const a = picture(1, 0);
  expect([a, a, undefined, a, a].map((each) => filter.isSame(each))).toEqual([false, true, true, false, true]);
  filter.renew();
  expect([a, a, undefined].map((each) => filter.isSame(each))).toEqual([false, true, true]);
  filter.renew();
  expect([undefined, undefined].map((each) => filter.isSame(each))).toEqual([false, true]);
  filter.clear();
  expect(filter.isSame(a)).toBe(false);
  // No cosine below 0 counts as similar.
  expect(filter.isSame(picture(-1, 0))).toBe(false);
});
