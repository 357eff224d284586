import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { BT601, rgbToI420 } from "../../src/video/yuv";

function flat(red: number, green: number, blue: number, width = 2, height = 2): Uint8Array {
  return Uint8Array.from({ length: width * height * 3 }, (_, i) => [red, green, blue][i % 3]!);
}

describe("rgbToI420", () => {
  // Bars of 100 % in 8-bit BT.709, as in ITU-R BT.709 and SMPTE RP 219.
  it.each([
    ["black", [0, 0, 0], [16, 128, 128]],
    ["white", [255, 255, 255], [235, 128, 128]],
    ["red", [255, 0, 0], [63, 102, 240]],
    ["green", [0, 255, 0], [173, 42, 26]],
    ["blue", [0, 0, 255], [32, 240, 118]],
    ["yellow", [255, 255, 0], [219, 16, 138]],
    ["grey", [128, 128, 128], [126, 128, 128]],
  ])("maps %s", (_, [r, g, b], [y, cb, cr]) => {
    expect([...rgbToI420(flat(r!, g!, b!), 2, 2)]).toEqual([y, y, y, y, cb, cr]);
  });

  it("takes BT.601's weights too", () => {
    expect([...rgbToI420(flat(255, 0, 0), 2, 2, BT601)]).toEqual([81, 81, 81, 81, 90, 240]);
    expect([...rgbToI420(flat(0, 0, 255), 2, 2, BT601)]).toEqual([41, 41, 41, 41, 240, 110]);
  });

  it("keeps luma per pixel and means chroma over 2 x 2", () => {
    const rgb = Uint8Array.from([255, 0, 0, 0, 0, 255, 255, 0, 0, 0, 0, 255]);
    expect([...rgbToI420(rgb, 2, 2)]).toEqual([63, 32, 63, 32, 171, 179]);
  });

  it("puts planes one after the other, rows of chroma half as wide", () => {
    const rgb = new Uint8Array(4 * 4 * 3);
    rgb.set([0, 0, 255, 0, 0, 255], 3 * (2 * 4 + 2));
    rgb.set([0, 0, 255, 0, 0, 255], 3 * (3 * 4 + 2));
    const planes = rgbToI420(rgb, 4, 4);
    expect(planes.length).toBe(24);
    expect([...planes.subarray(16, 20)]).toEqual([128, 128, 128, 240]);
    expect([...planes.subarray(20, 24)]).toEqual([128, 128, 128, 118]);
  });

  it("stays in the limited range for any colour", () => {
    const byte = fc.integer({ min: 0, max: 255 });
    fc.assert(
      fc.property(byte, byte, byte, (r, g, b) => {
        const [y, , , , cb, cr] = rgbToI420(flat(r, g, b), 2, 2);
        expect(y).toBeGreaterThanOrEqual(16);
        expect(y).toBeLessThanOrEqual(235);
        for (const chroma of [cb!, cr!]) {
          expect(chroma).toBeGreaterThanOrEqual(16);
          expect(chroma).toBeLessThanOrEqual(240);
        }
      }),
      { seed: 7, numRuns: 500 },
    );
  });
});
