import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { noiseImage } from "../../../../tooling/testing/pictures";
import { FITS, fitFloats, fitPicture, fitPlacement, parseFocus } from "../../src/pictures/fit";
import { resizeLanczos } from "../../src/pictures/lanczos";
import type { RgbImage } from "../../src/pictures/rgb-image";

/** Each pixel says where it is: red its column, green its row. */
function map(width: number, height: number): RgbImage {
  const at = (i: number) => [Math.floor(i / 3) % width, Math.floor(i / 3 / width), 0][i % 3]!;
  return { width, height, data: Uint8Array.from({ length: width * height * 3 }, (_, i) => at(i)) };
}

const corner = ({ data }: RgbImage) => [data[0], data[1]];

describe("fitPicture", () => {
  it("cuts the largest part of the shape, at the picture's resolution, from its middle", async () => {
    const portrait = await fitPicture(map(40, 90), 160, 80);
    expect([portrait.width, portrait.height]).toEqual([40, 20]);
    expect(corner(portrait)).toEqual([0, 35]);
    const wide = await fitPicture(map(90, 40), 100, 100);
    expect([wide.width, wide.height, ...corner(wide)]).toEqual([40, 40, 25, 0]);
  });

  it.each([
    ["top", 0],
    ["bottom-right", 70],
    ["50%,30%", 17],
    ["0%,100%", 70],
    ["center", 35],
  ])("keeps %s as near to the middle as the edges allow", async (focus, top) => {
    expect(corner(await fitPicture(map(40, 90), 160, 80, { focus: parseFocus(focus) }))).toEqual([0, top]);
  });

  it("shows all of it between black bars", async () => {
    const white = { width: 30, height: 60, data: new Uint8Array(30 * 60 * 3).fill(255) };
    const { width, height, data } = await fitPicture(white, 64, 32, { fit: "contain" });
    expect([width, height]).toEqual([64, 32]);
    const row = Array.from({ length: 64 }, (_, x) => data[(16 * 64 + x) * 3]);
    expect(row).toEqual([...Array(24).fill(0), ...Array(16).fill(255), ...Array(24).fill(0)]);
  });

  it("leaves the picture alone to be stretched, and one of the shape in every way", async () => {
    const image = noiseImage(40, 30);
    expect(await fitPicture(image, 64, 8, { fit: "stretch" })).toBe(image);
    for (const fit of FITS) expect(await fitPicture(image, 400, 300, { fit })).toBe(image);
  });

  it("keeps a circle round where stretching flattens it", async () => {
    const side = 96;
    const inDisc = (i: number) => ((i % 48) - 24) ** 2 + (Math.floor(i / 48) - side / 2) ** 2 < 20 ** 2;
    const disc = {
      width: 48,
      height: side,
      data: Uint8Array.from({ length: 48 * side * 3 }, (_, i) => (inDisc(Math.floor(i / 3)) ? 255 : 0)),
    };
    const extent = async (image: RgbImage) => {
      const resized = await resizeLanczos(image, 64, 64);
      const lit = (x: number, y: number) => resized.data[(y * 64 + x) * 3]! > 127;
      const line = Array.from({ length: 64 }, (_, i) => i);
      return [line.filter((x) => lit(x, 32)).length, line.filter((y) => lit(32, y)).length];
    };
    const [width, height] = await extent(await fitPicture(disc, 64, 64));
    expect(Math.abs(width! - height!)).toBeLessThanOrEqual(1);
    const [flatWidth, flatHeight] = await extent(await fitPicture(disc, 64, 64, { fit: "stretch" }));
    expect(flatWidth! / flatHeight!).toBeGreaterThan(1.8);
  });

  it("gives a part of the shape, to a pixel, of any picture", async () => {
    const side = fc.integer({ min: 1, max: 60 });
    const share = fc.double({ min: 0, max: 1, noNaN: true });
    await fc.assert(
      fc.asyncProperty(side, side, side, side, share, async (w, h, width, height, x) => {
        const part = await fitPicture(noiseImage(w, h), width, height, { focus: { x, y: 1 - x } });
        expect(part.data.length).toBe(part.width * part.height * 3);
        const isCutBelow = w * height <= h * width;
        expect(isCutBelow ? part.width : part.height).toBe(isCutBelow ? w : h);
        const ideal = isCutBelow ? (w * height) / width : (h * width) / height;
        const cut = isCutBelow ? part.height : part.width;
        expect(Math.abs(cut - Math.max(1, ideal))).toBeLessThanOrEqual(0.5);
      }),
      { seed: 7, numRuns: 200 },
    );
  });
});

describe("a signal", () => {
  const image = noiseImage(400, 300);

  it.each(["cover", "contain", "stretch"] as const)("that has fired ends %s before it begins", async (fit) => {
    const work = { fit, signal: AbortSignal.abort(), where: "the frame" };
    await expect(fitPicture(image, 64, 64, work)).rejects.toMatchObject({ code: "cancelled", where: "the frame" });
  });

  it("that fires meanwhile ends it", async () => {
    const controller = new AbortController();
    const fitting = fitPicture(image, 64, 64, { fit: "contain", signal: controller.signal });
    controller.abort();
    await expect(fitting).rejects.toMatchObject({ code: "cancelled", where: "fit" });
  });
});

describe("parseFocus", () => {
  it.each(["", "middle", "50%", "101%,0%", "50%;30%", "top-bottom", "left-top", "-5%,0%"])("refuses %j", (text) => {
    expect(() => parseFocus(text)).toThrow(expect.objectContaining({ code: "attr", where: "focus" }));
  });

  it("reads words and percentages", () => {
    expect(parseFocus("top-right")).toEqual({ x: 1, y: 0 });
    expect(parseFocus("left")).toEqual({ x: 0, y: 0.5 });
    expect(parseFocus("12.5%,100%")).toEqual({ x: 0.125, y: 1 });
  });
});

describe("fitFloats", () => {
  /** Planes whose numbers say where they lie: 100 · plane + 10 · y + x. */
  const image = {
    ...{ width: 4, height: 2 },
    data: Float32Array.from({ length: 24 }, (_, i) => 100 * Math.floor(i / 8) + 10 * Math.floor((i % 8) / 4) + (i % 4)),
  };

  it("cuts each plane as pixels are cut", () => {
    const { width, height, data } = fitFloats(image, 64, 64, { focus: { x: 1, y: 0.5 } });
    expect([width, height]).toEqual([2, 2]);
    expect(Array.from(data)).toEqual([2, 3, 12, 13, 102, 103, 112, 113, 202, 203, 212, 213]);
  });

  it("leaves a picture of the shape, or a stretched one, as it is", () => {
    expect(fitFloats(image, 128, 64)).toBe(image);
    expect(fitFloats(image, 64, 64, { fit: "stretch" })).toBe(image);
  });

  it("refuses bars, which would be resized", () => {
    expect(() => fitFloats(image, 64, 64, { fit: "contain" })).toThrow(
      /\[fit\] expected cover or stretch .* got contain/,
    );
    expect(fitFloats(image, 128, 64, { fit: "contain" })).toBe(image);
  });
});

describe("fitPlacement", () => {
  const focus = parseFocus("50%,30%");

  it("tells the part that cover cuts out", async () => {
    const { crop, placed } = fitPlacement({ width: 40, height: 90 }, 160, 80, { focus });
    expect(crop).toEqual({ left: 0, top: 17, width: 40, height: 20 });
    expect(corner(await fitPicture(map(40, 90), 160, 80, { focus }))).toEqual([crop.left, crop.top]);
    expect(placed).toEqual({ left: 0, top: 0, width: 160, height: 80 });
  });

  it("tells where contain puts the picture, and that stretch uses all of it", () => {
    const whole = { left: 0, top: 0, width: 30, height: 60 };
    const inFrame = { left: 24, top: 0, width: 16, height: 32 };
    expect(fitPlacement(whole, 64, 32, { fit: "contain" })).toEqual({ crop: whole, placed: inFrame });
    const frame = { left: 0, top: 0, width: 64, height: 32 };
    expect(fitPlacement(whole, 64, 32, { fit: "stretch" })).toEqual({ crop: whole, placed: frame });
  });
});
