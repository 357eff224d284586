import sharp from "sharp";
import { describe, expect, it } from "vitest";
import { type AnimationFormat, encodeGif, encodePng, encodeWebp, heldFrames } from "../../src/video/animation";
import { gradientVideo, planesOf, psnr } from "../support/video";

describe("heldFrames", () => {
  const delays = (numFrames: number, fps: number, format: AnimationFormat) =>
    heldFrames({ numFrames, fps }, format).map(({ delayMs }) => delayMs);

  it("does not let rounding add up", () => {
    expect(delays(7, 7, "webp")).toEqual([143, 143, 143, 142, 143, 143, 143]);
    expect(delays(7, 7, "gif")).toEqual([140, 150, 140, 140, 140, 150, 140]);
  });

  it("leaves frames out where players would slow the video down, and keeps its time", () => {
    for (const [format, least] of [
      ["webp", 11],
      ["gif", 20],
    ] as const)
      for (const fps of [24, 50, 60, 91, 99, 100, 120, 240])
        for (const numFrames of [1, 2, 3, 25, 100]) {
          const frames = heldFrames({ numFrames, fps }, format);
          const total = frames.reduce((sum, { delayMs }) => sum + delayMs, 0);
          expect(Math.min(...frames.map(({ delayMs }) => delayMs))).toBeGreaterThanOrEqual(least);
          const exact = Math.max((numFrames * 1000) / fps, least);
          expect(Math.abs(total - exact)).toBeLessThanOrEqual(format === "gif" ? 5 : 0.5);
        }
    expect(heldFrames({ numFrames: 6, fps: 100 }, "gif").map(({ index }) => index)).toEqual([0, 2, 4]);
  });

  it("leaves none out that players show in time", () => {
    expect(delays(90, 90, "webp")).toHaveLength(90);
    expect(delays(50, 50, "gif")).toHaveLength(50);
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

  it.each([
    ["webp", encodeWebp],
    ["gif", encodeGif],
  ] as const)("%s lasts as long as the video at 120 frames a second", async (_, encode) => {
    const { delay = [] } = await sharp(await encode(gradientVideo(16, 8, 60, 120)), { animated: true }).metadata();
    expect(Math.min(...delay)).toBeGreaterThan(10);
    expect(delay.reduce((sum, each) => sum + each, 0)).toBe(500);
  });

  it.each([
    ["webp", encodeWebp],
    ["gif", encodeGif],
  ] as const)("%s in which nothing moves keeps its clock", async (_, encode) => {
    const still = gradientVideo(32, 16, 1);
    const data = Uint8Array.from({ length: still.data.length * 4 }, (_value, i) => still.data[i % still.data.length]!);
    const frame = (i: number) => data.subarray(i * still.data.length, (i + 1) * still.data.length);
    const file = await encode({ ...still, numFrames: 4, fps: 10, data, frame });
    const { pages = 1, delay = [] } = await sharp(file, { animated: true }).metadata();
    expect(pages).toBeGreaterThan(1);
    expect(delay.reduce((sum, each) => sum + each, 0)).toBe(400);
    // Only the last frame's last pixel may differ by more than a level or two of WebP's own loss.
    const decoded = await sharp(file, { page: 0 }).removeAlpha().raw().toBuffer();
    expect(psnr(still.data, decoded)).toBeGreaterThan(28);
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
