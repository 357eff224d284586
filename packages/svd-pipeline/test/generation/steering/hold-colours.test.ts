import { describe, expect, it } from "vitest";
import { coloursOf, holdColours } from "../../../src/generation/steering/hold-colours";

const AREA = 25;
/** Two channels of a picture: the first `gain` times as strong and `offset` brighter, the second `offset` darker. */
const frame = (offset: number, gain = 1): Float32Array =>
  Float32Array.from({ length: 2 * AREA }, (_, i) =>
    i < AREA ? gain * Math.sin(i) + offset : Math.cos(3 * i) - offset,
  );
const hold = { anchor: coloursOf([frame(0)], 2), strength: 1, overlap: 2 };

describe("holding colours", () => {
  it("measures mean and deviation of each channel", () => {
    const [first, second] = coloursOf([Float32Array.of(1, 3, 5, 5), Float32Array.of(1, 3, 5, 5)], 2);
    expect(first).toEqual({ mean: 2, deviation: 1 });
    expect(second).toEqual({ mean: 5, deviation: 0 });
  });

  it("takes a drift back, more from frame to frame, all of it where the next clip goes on", () => {
    const frames = [0.1, 0.2, 0.3, 0.3].map((drift) => frame(drift));
    holdColours(frames, hold);
    for (const each of frames) {
      expect(each[7]).toBeCloseTo(Math.sin(7), 5);
      expect(each[AREA + 7]).toBeCloseTo(Math.cos(3 * (AREA + 7)), 5);
    }
  });

  it("gives contrast back, but not beyond what may be a drift", () => {
    const [faded, dark] = [
      [frame(0, 0.9), frame(0, 0.9)],
      [frame(0, 0.1), frame(0, 0.1)],
    ];
    holdColours(faded, hold);
    expect(faded[1]![7]).toBeCloseTo(Math.sin(7), 5);
    holdColours(dark, hold);
    expect(coloursOf(dark, 2)[0]!.deviation).toBeCloseTo(0.125 * coloursOf([frame(0)], 2)[0]!.deviation, 5);
  });

  it("takes back as much as is asked for", () => {
    const frames = [frame(0.4), frame(0.4)];
    holdColours(frames, { ...hold, strength: 0.5 });
    expect(coloursOf(frames, 2)[0]!.mean - hold.anchor[0]!.mean).toBeCloseTo(0.2, 5);
    holdColours(frames, { ...hold, strength: 0 });
    expect(coloursOf(frames, 2)[0]!.mean - hold.anchor[0]!.mean).toBeCloseTo(0.2, 5);
  });
});
