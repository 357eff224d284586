import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { planClips, planInterpolation } from "../../../src/generation/steering/timeline";

const request = (changes: Partial<Parameters<typeof planClips>[0]> = {}) => ({
  ...{ numPast: 0, numFrames: 42, clipFrames: 14, overlap: 4, isLoop: false, hasLast: false },
  ...changes,
});

/** For each clip, how many of its first frames were made by clips before, checking that all others of its frames are new. */
function takenOver(clips: ReturnType<typeof planClips>, numPast: number): number[] {
  const made = new Set(Array.from({ length: numPast + (numPast > 0 ? 1 : 0) }, (_, i) => i));
  return clips.map(({ positions }) => {
    const count = positions.findIndex((at) => at === undefined || !made.has(at));
    for (const at of positions) if (at !== undefined) made.add(at);
    return count;
  });
}

describe("clips of a long video", () => {
  it("each take over frames of the one before", () => {
    const starts = planClips(request()).map(({ positions }) => positions[0]);
    expect(starts).toEqual([0, 10, 20, 28]);
    expect(takenOver(planClips(request()), 0)).toEqual([0, 4, 4, 6]);
  });

  it("are one where the model can do all at once", () => {
    expect(planClips(request({ numFrames: 14 }))).toHaveLength(1);
    expect(planClips(request({ numFrames: 5 }))[0]!.positions.slice(0, 6)).toEqual([0, 1, 2, 3, 4, undefined]);
  });

  it("that are longer than the video end beyond it, where nothing leads to its last frame", () => {
    const clips = planClips(request({ numFrames: 2, clipFrames: 3, hasLast: true }));
    expect(clips).toEqual([{ positions: [0, 1, undefined], isBounded: false }]);
  });

  it("cover every frame, whatever the numbers, with clips of one length", () => {
    const numbers = fc.record({
      numPast: fc.integer({ min: 0, max: 3 }),
      numFrames: fc.integer({ min: 2, max: 90 }),
      clipFrames: fc.integer({ min: 6, max: 25 }),
      overlap: fc.integer({ min: 1, max: 5 }),
      hasLast: fc.boolean(),
    });
    fc.assert(
      fc.property(numbers, (given) => {
        const clips = planClips(request(given));
        const total = given.numPast + given.numFrames;
        const covered = new Set(clips.flatMap(({ positions }) => positions));
        covered.delete(undefined);
        expect([...covered].sort((a, b) => a! - b!)).toEqual(Array.from({ length: total }, (_, i) => i));
        expect(new Set(clips.map(({ positions }) => positions.length)).size).toBe(1);
        const [, ...later] = takenOver(clips, given.numPast);
        for (const count of later) expect(count).toBeGreaterThanOrEqual(given.overlap);
        expect(clips.map(({ isBounded }) => isBounded)).toEqual(
          clips.map((_, i) => given.hasLast && i === clips.length - 1 && given.clipFrames <= total),
        );
      }),
    );
  });
});

describe("clips of a loop", () => {
  it.each([4, 5, 6, 9, 14, 15, 28, 60])("lead from the last of %d frames to the first", (numFrames) => {
    const clips = planClips(request({ numFrames, isLoop: true }));
    const bridge = clips.at(-1)!;
    expect(bridge.isBounded).toBe(true);
    const covered = new Set(clips.flatMap(({ positions }) => positions).filter((at) => at !== undefined));
    expect(covered.size).toBe(numFrames);
    // It crosses the end, and ends in frames that are known by then.
    expect(bridge.positions).toContain(0);
    expect(bridge.positions).toContain(numFrames - 1);
    const made = new Set(clips.slice(0, -1).flatMap(({ positions }) => positions));
    expect(made.has(bridge.positions[0])).toBe(true);
    expect(made.has(bridge.positions.at(-1))).toBe(true);
  });

  it.each([3, 4, 5, 9])("of three frames at a time begin with known frames, %d in all", (numFrames) => {
    const clips = planClips(request({ numFrames, clipFrames: 3, overlap: 1, isLoop: true }));
    const made = new Set<number | undefined>();
    for (const [i, { positions }] of clips.entries()) {
      if (i > 0) expect(made.has(positions[0])).toBe(true);
      for (const at of positions) made.add(at);
    }
    made.delete(undefined);
    expect(made.size).toBe(numFrames);
  });
});

describe("clips between known frames", () => {
  it.each([
    [3, 14],
    [27, 14],
    [27, 13],
    [83, 25],
    [1, 3],
  ])("make every second of %d frames, %d at a time", (numFrames, clipFrames) => {
    const clips = planInterpolation(numFrames, clipFrames);
    const covered = new Set(clips.flatMap(({ positions }) => positions).filter((at) => at !== undefined));
    expect(covered.size).toBe(numFrames);
    for (const { positions } of clips) {
      const inside = positions.filter((at) => at !== undefined);
      expect(inside[0]! % 2).toBe(0);
      expect(inside.at(-1)! % 2).toBe(0);
      expect(positions).toHaveLength(clipFrames);
    }
  });
});
