import { fitPlacement, parseFocus } from "@vd/media";
import { describe, expect, it } from "vitest";
import { coverPart, focusText, movedFocus, readFocus } from "../../../web/src/picture/crop";

const SIZES = [
  [
    { width: 600, height: 200 },
    { width: 128, height: 128 },
  ],
  [
    { width: 333, height: 1000 },
    { width: 1024, height: 576 },
  ],
  [
    { width: 1024, height: 576 },
    { width: 1024, height: 576 },
  ],
  [
    { width: 31, height: 17 },
    { width: 64, height: 40 },
  ],
] as const;
const FOCUSES = ["center", "top-left", "bottom", "right", "10%,90%", "62.5%,37.5%"];

describe("the crop that the page draws", () => {
  it.each(SIZES)("is the part that the pipeline takes, of %o in %o, up to the rounding to pixels", (picture, frame) => {
    for (const focus of FOCUSES) {
      const drawn = coverPart(picture, frame, readFocus(focus));
      const { crop } = fitPlacement(picture, frame.width, frame.height, { focus: parseFocus(focus) });
      expect(Math.abs(drawn.left * picture.width - crop.left), focus).toBeLessThanOrEqual(1);
      expect(Math.abs(drawn.top * picture.height - crop.top), focus).toBeLessThanOrEqual(1);
      expect(Math.abs(drawn.width * picture.width - crop.width), focus).toBeLessThanOrEqual(1);
      expect(Math.abs(drawn.height * picture.height - crop.height), focus).toBeLessThanOrEqual(1);
    }
  });

  it("reads the focus as the option is read", () => {
    for (const focus of [...FOCUSES, "left", "top", "bottom-right"])
      expect(readFocus(focus)).toEqual(parseFocus(focus));
  });

  it("is moved by dragging, and stays where it ends", () => {
    const [picture, frame] = SIZES[0];
    const moved = movedFocus(picture, frame, { x: 0.5, y: 0.5 }, 0.1, 0.4);
    expect(coverPart(picture, frame, moved).left).toBeCloseTo(1 / 3 + 0.1);
    // Back from beyond the edge it moves at once.
    const beyond = movedFocus(picture, frame, moved, 5, 0);
    expect(coverPart(picture, frame, beyond).left).toBeCloseTo(2 / 3);
    expect(coverPart(picture, frame, movedFocus(picture, frame, beyond, -0.1, 0)).left).toBeCloseTo(2 / 3 - 0.1);
  });

  it("writes a focus that the option takes", () => {
    for (const point of [
      { x: 0, y: 1 },
      { x: 1 / 3, y: 2 / 3 },
      { x: 1.2, y: -0.1 },
    ])
      expect(() => parseFocus(focusText(point))).not.toThrow();
    expect(focusText({ x: 0.123, y: 0.4567 })).toBe("12.3%,45.7%");
  });
});
