import { expect, it } from "vitest";
import { joinClip } from "../../../src/index";

const flat = (level: number) => ({ width: 2, height: 2, data: new Uint8Array(12).fill(level) });

it("puts the new frames behind the clip, and fades the difference at the seam", () => {
  const made = [110, 112, 114, 116, 118, 120].map(flat);
  const video = {
    ...{ width: 2, height: 2, fps: 7, numFrames: made.length },
    data: new Uint8Array(),
    frame: (i: number) => made[i]!.data,
  };
  const whole = joinClip([flat(90), flat(95), flat(100)], video);
  expect(whole).toMatchObject({ width: 2, height: 2, fps: 7, numFrames: 8 });
  const levels = Array.from({ length: 8 }, (_, i) => whole.frame(i)[0]);
  expect(levels).toEqual([90, 95, 100, 105, 109, 114, 118, 120].map((v, i) => (i < 3 ? v : levels[i])));
  // 10 levels off at the seam: 7.5 of them are still taken off the next frame, then 5, 2.5 and none.
  expect(levels.slice(3)).toEqual([105, 109, 114, 118, 120]);
  expect(whole.data).toHaveLength(8 * 12);
});

it("refuses a clip of another size, and one without frames", () => {
  const video = {
    width: 4,
    height: 2,
    fps: 7,
    numFrames: 1,
    data: new Uint8Array(24),
    frame: () => new Uint8Array(24),
  };
  const small = { width: 2, height: 2, data: new Uint8Array(12) };
  expect(() => joinClip([small], video)).toThrow("[clip] expected frames of 4x2, as the video's, got one of 2x2");
  expect(() => joinClip([], video)).toThrow("[clip] expected frames of 4x2, as the video's, got none");
});
