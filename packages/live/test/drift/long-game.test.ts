import { expect, test } from "vitest";
import { drift, hasCollapsed, randomPlay } from "../../src/index";
import { TINY_LIVE } from "../support/tiny-live";

/** Frames of a game: all 2,000 of the property where there is time. */
const FRAMES = process.env.VD_LONG === "1" ? 2000 : 30;
/** The first of them collapses without a guard, with this seed at one step. */
const STARTS: [string, number][] = [
  ["island-morning", 4242],
  ...(process.env.VD_LONG === "1"
    ? ([
        ["autumn-afternoon", 4242],
        ["meadow-morning", 1],
        ["savanna-sunset", 1],
        ["snow-sunset", 1],
        ["meadow-night", 1],
        ["rust-afternoon", 1],
      ] as [string, number][])
    : []),
];

const games = STARTS.flatMap(([start, seed]) => [1, 2].map((steps) => ({ start, seed, steps })));

test.each(games)(`${FRAMES} frames of random play do not collapse: %o`, { timeout: 3_600_000 }, async (game) => {
  const heard: number[] = [];
  const options = { model: TINY_LIVE, frames: FRAMES, everyFrames: 10, threads: 2, ...game };
  const report = await drift({ ...options, onMeasure: ({ frame }) => heard.push(frame) });
  expect(report.collapsed).toBe(false);
  expect(heard).toEqual(Array.from({ length: FRAMES / 10 }, (_, i) => 10 * i));
  expect(report.measures.map(({ frame }) => frame)).toEqual(heard);
  const guard = { renoise: 0, anchor: 0, recover: 0.05 };
  expect(report).toMatchObject({ model: "tiny-live", ...game, frames: FRAMES, guard });
});

test("a game that has lost its contrast, its detail or its colours has collapsed", () => {
  const lively = {
    ...{ frames: [0, 10] as const, contrast: 0.4, detail: 0.04, temporal: 0.1, saturation: 0.5, colourEntropy: 4 },
    ...{ colourDrift: 0, repetition: 0.1, collapse: 0 },
  } as const;
  expect(hasCollapsed(lively, lively)).toBe(false);
  for (const name of ["contrast", "detail", "colourEntropy"] as const)
    expect(hasCollapsed(lively, { ...lively, [name]: 0.4 * lively[name] })).toBe(true);
});

test("random play is the same for the same seed, holds each action for a while and knows all of them", () => {
  const take = (seed: number) => {
    const play = randomPlay(6, seed);
    return Array.from({ length: 2000 }, () => play.next().value);
  };
  expect(take(4)).toEqual(take(4));
  expect(take(4)).not.toEqual(take(5));
  expect(new Set(take(4)).size).toBe(6);
  const changes = take(4).filter((action, i, all) => i > 0 && action !== all[i - 1]).length;
  expect(changes).toBeGreaterThan(2000 / 40);
  expect(changes).toBeLessThan(2000 / 5);
});

test("refuses numbers that make no run", async () => {
  await expect(drift({ frames: 5, everyFrames: 10 })).rejects.toThrow(
    /\[frames\] expected a whole number of at least 10/,
  );
  await expect(drift({ everyFrames: 0 })).rejects.toThrow(/\[everyFrames\]/);
  await expect(drift({ seed: 0.5 })).rejects.toThrow(/\[seed\]/);
});
