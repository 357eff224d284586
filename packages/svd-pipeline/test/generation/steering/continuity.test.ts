import { describe, expect, it } from "vitest";
import { measureContinuity } from "../../../src/generation/steering/continuity";

/** Frames of 4 pixels: red rises by `steps[i]` into frame i + 1, green and blue stay. */
function videoOf(steps: readonly number[]) {
  const levels = [50];
  for (const step of steps) levels.push(levels.at(-1)! + step);
  const frames = levels.map((red) => Uint8Array.from({ length: 12 }, (_, i) => (i % 3 === 0 ? red : 90)));
  return { numFrames: frames.length, frame: (i: number) => frames[i]! };
}

describe("the measure of continuity", () => {
  it("gives a seam like any other step a motion of 1", () => {
    const { seams, colourDrift } = measureContinuity({ ...videoOf([3, 3, 3, 3, 3, 3, 3, 3, 3]), seams: [5] });
    expect(seams).toEqual([{ frame: 5, motion: 1, colourStep: 3 }]);
    expect(colourDrift).toBe(18);
  });

  it("shows a jump, where it is and how large", () => {
    const { seams } = measureContinuity({ ...videoOf([2, 2, 2, 2, 20, 2, 2, 2, 2]), seams: [5, 3] });
    expect(seams[0]).toMatchObject({ frame: 5, colourStep: 20 });
    expect(seams[0]!.motion).toBeCloseTo(10, 9);
    expect(seams[1]!.motion).toBe(1);
  });

  it("looks over the end of a loop", () => {
    const { seams } = measureContinuity({ ...videoOf([1, 1, 1, 1, 1, 1, -1, -1, -1, -1, -1]), seams: [0] });
    expect(seams[0]).toEqual({ frame: 0, motion: 1, colourStep: 1 });
  });

  it("says nothing of seams where there are none", () => {
    expect(measureContinuity({ ...videoOf([0, 0]), seams: [] })).toEqual({
      seams: [],
      colourDrift: 0,
      driftByChannel: [0, 0, 0],
    });
  });
});
