import sharp from "sharp";
import { describe, expect, it } from "vitest";
import { encodeGif, encodePng, encodeWebp, frameDelaysMs } from "../../src/video/animation";
import { gradientVideo, planesOf, psnr } from "../support/video";

describe("frameDelaysMs", () => {
  it("does not let rounding add up", () => {
    expect(frameDelaysMs({ numFrames: 7, fps: 7 }, 1)).toEqual([143, 143, 143, 142, 143, 143, 143]);
    expect(frameDelaysMs({ numFrames: 7, fps: 7 }, 10)).toEqual([140, 150, 140, 140, 140, 150, 140]);
    expect(frameDelaysMs({ numFrames: 3, fps: 120 }, 10)).toEqual([10, 10, 10]);
  });
});

describe("animations", () => {
  const video = gradientVideo(64, 48, 5);

  it.each([
    ["webp", encodeWebp, 37, [143, 143, 143, 142, 143]],
    ["gif", encodeGif, 30, [140, 150, 140, 140, 140]],
  ] as const)("%s comes back with its frames, times and loop", async (format, encode, leastPsnr, delay) => {
    const file = await encode(video);
    const metadata = await sharp(file, { animated: true }).metadata();
    expect(metadata).toMatchObject({ format, width: 64, pageHeight: 48, pages: 5, loop: 0, delay });
    const decoded = await sharp(file, { animated: true }).removeAlpha().raw().toBuffer();
    expect(psnr(planesOf(video.data, video), planesOf(decoded, video))).toBeGreaterThan(leastPsnr);
  });

  it.each([encodeWebp, encodeGif])("also hold one frame", async (encode) => {
    const metadata = await sharp(await encode(gradientVideo(16, 8, 1))).metadata();
    expect([metadata.width, metadata.height]).toEqual([16, 8]);
  });

  it("stop when they are cancelled", async () => {
    const signal = AbortSignal.abort(new Error("enough"));
    await expect(encodeWebp(video, { signal })).rejects.toThrow("enough");
  });
});

describe("encodePng", () => {
  it("loses nothing", async () => {
    const video = gradientVideo(40, 24, 3);
    const decoded = await sharp(await encodePng(video, video.frame(2)))
      .raw()
      .toBuffer();
    expect(Buffer.compare(decoded, video.frame(2))).toBe(0);
  });
});
