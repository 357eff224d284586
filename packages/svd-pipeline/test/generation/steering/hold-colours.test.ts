import { describe, expect, it } from "vitest";
import { holdColours } from "../../../src/generation/steering/hold-colours";

const AREA = 25;
const NUM_CHANNELS = 2;
/** Two channels of a picture, with an offset in each; some places may hold something else. */
function frame(offsets: readonly [number, number], object?: number): Float32Array {
  return Float32Array.from({ length: NUM_CHANNELS * AREA }, (_, i) => {
    const place = i % AREA;
    if (object !== undefined && place >= object && place < object + 5) return 9;
    return Math.sin(place) + offsets[Math.floor(i / AREA)]!;
  });
}
const hold = { anchor: frame([0, 0]), numChannels: NUM_CHANNELS, strength: 1, overlap: 2 };

describe("holding colours", () => {
  it("takes a drift back, more from frame to frame, all of it where the next clip goes on", () => {
    const frames = [0.1, 0.2, 0.3, 0.3].map((drift) => frame([drift, -2 * drift]));
    holdColours(frames, hold);
    expect(frames[3]![7]).toBeCloseTo(Math.sin(7), 5);
    expect(frames[2]![AREA + 7]).toBeCloseTo(Math.sin(7), 5);
    expect(frames[0]![7]).toBeCloseTo(Math.sin(7), 5);
    expect(frames[1]![7]).toBeCloseTo(Math.sin(7), 5);
  });

  it("does not take an object that moves for a drift", () => {
    const frames = [3, 8, 13].map((place) => frame([0, 0], place));
    const before = frames.map((each) => each.slice());
    holdColours(frames, hold);
    frames.forEach((each, i) => {
      const worst = Math.max(...each.map((value, k) => Math.abs(value - before[i]![k]!)));
      expect(worst).toBeLessThan(0.05);
    });
  });

  it("takes back as much as is asked for", () => {
    const frames = [frame([0.4, 0]), frame([0.4, 0])];
    holdColours(frames, { ...hold, strength: 0.5 });
    expect(frames[1]![0]).toBeCloseTo(0.2, 5);
    holdColours(frames, { ...hold, strength: 0 });
    expect(frames[1]![0]).toBeCloseTo(0.2, 5);
  });
});
