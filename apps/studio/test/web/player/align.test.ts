import { expect, it } from "vitest";
import { type AlignedVideo, align } from "../../../web/src/player/align";

const FPS = 7;

/** A clip as the HTML standard has it: a time that is no number is refused. */
function clip(currentTime: number, duration: number, readyState = 4): AlignedVideo {
  let time = currentTime;
  return {
    duration,
    readyState,
    get currentTime() {
      return time;
    },
    set currentTime(value) {
      if (!Number.isFinite(value)) throw new TypeError("The provided double value is non-finite.");
      time = value;
    },
  };
}

it("puts a clip that is a frame behind or before at the leader's time", () => {
  const [behind, before] = [clip(0.5, 2), clip(1.2, 2)];
  align(clip(0.9, 2), [behind, before], FPS);
  expect([behind.currentTime, before.currentTime]).toEqual([0.9, 0.9]);
});

it("leaves a clip that is less than a frame away", () => {
  const near = clip(0.85, 2);
  align(clip(0.9, 2), [near], FPS);
  expect(near.currentTime).toBe(0.85);
});

it("stops a shorter clip in its last frame", () => {
  const shorter = clip(0.2, 1);
  align(clip(1.8, 2), [shorter], FPS);
  expect(shorter.currentTime).toBeCloseTo(1 - 0.5 / FPS);
});

it("waits for a clip that is not loaded yet, whose duration is not known", () => {
  const loading = clip(0, Number.NaN, 0);
  align(clip(0.9, 2), [loading], FPS);
  expect(loading.currentTime).toBe(0);
});
