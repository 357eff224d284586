import { describe, expect, it } from "vitest";
import { failureOf } from "../../../../tooling/testing/failure";
import { noCalls } from "../../src/denoising/call-planner";
import { makeVideo } from "../../src/generation/video";
import { framesToUint8, framesToUnit } from "../../src/index";

const [numFrames, height, width] = [3, 2, 5];
const strides = { frame: 3 * height * width, channel: 1, row: 3 * width, column: 3 };

const PARTS = { width, height, numFrames, fps: 7, seed: 5n, timings: {}, peakBytes: 0, denoiserCalls: noCalls() };

/** Frames with all that a decoder can give: inside and outside of the range, and no numbers. */
function videoOf() {
  const raw = Float32Array.from({ length: numFrames * height * width * 3 }, (_, i) => Math.sin(i) * 1.3);
  raw.set([Number.POSITIVE_INFINITY, Number.NEGATIVE_INFINITY, -1, 1]);
  const stored = { dtype: "f32", bytes: new Uint8Array(raw.buffer) } as const;
  const data = framesToUint8(raw, { numFrames, height, width }, strides);
  return {
    raw,
    video: makeVideo({ ...PARTS, result: { data, raw: stored } }),
  };
}

describe("a video", () => {
  it("gives the floats in [0,1] that the bytes were rounded from, planes first", () => {
    const { raw, video } = videoOf();
    const wanted = framesToUnit(raw, { numFrames, height, width }, strides); // [F,H,W,3]
    const area = width * height;
    const floats = video.floats();
    expect(floats).toHaveLength(wanted.length);
    wanted.forEach((value, at) => {
      const [frame, pixel, channel] = [Math.floor(at / (3 * area)), Math.floor(at / 3) % area, at % 3];
      expect(floats[(frame * 3 + channel) * area + pixel]).toBe(value);
    });
    expect([...floats].every((value) => value >= 0 && value <= 1)).toBe(true);
  });

  it("gives its frames one by one and as pictures, as views of its bytes", () => {
    const { video } = videoOf();
    const pictures = [...video];
    expect(pictures).toHaveLength(numFrames);
    pictures.forEach((picture, i) => {
      expect(picture).toMatchObject({ width, height });
      expect(picture.data).toEqual(video.data.slice(i * 30, (i + 1) * 30));
      expect(video.frame(i).buffer).toBe(video.data.buffer);
      expect(video.frame(i)).toEqual(picture.data);
    });
  });

  it.each([-1, 3, 0.5, Number.NaN, "0"])("refuses frame %s", async (i) => {
    const { video } = videoOf();
    const error = await failureOf(() => video.frame(i as number));
    expect(error.message).toBe(`[frame] expected a whole number from 0 to 2, got ${i}`);
  });

  it("of latents alone has these, and says so where frames are asked for", async () => {
    const latents = Float32Array.of(1, 2, 3);
    const video = makeVideo({ ...PARTS, result: latents });
    expect([video.latents, video.data.length]).toEqual([latents, 0]);
    for (const ask of [() => video.frame(0), () => video.floats(), () => [...video]])
      expect(await failureOf(ask)).toMatchObject({ code: "unsupported", got: "latents alone" });
    expect(videoOf().video.latents).toBeUndefined();
  });
});
