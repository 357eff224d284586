import fc from "fast-check";
import { afterAll, describe, expect, it } from "vitest";
import { joinClips } from "../../src/causal-video/clip";
import { DirectionSessions } from "../../src/causal-video/direction-sessions";
import { PictureSession } from "../../src/causal-video/picture-session";
import { stripsOf } from "../../src/causal-video/strips";
import type { Clip } from "../../src/index";
import { cut, noiseClip, openSmall, piecesOf } from "./support";

const vae = await openSmall();
afterAll(() => vae.close());

describe("strips", () => {
  it("cover every row once, with as many rows beyond as reach into it", () => {
    const property = fc.property(
      fc.integer({ min: 1, max: 200 }),
      fc.integer({ min: 0, max: 9 }),
      fc.integer({ min: 1, max: 40 }),
      (length, reach, rows) => {
        const height = Math.min(rows + 2 * reach, length);
        const strips = stripsOf(length, height, reach);
        let covered = 0;
        for (const { top, begin, end } of strips) {
          expect(begin).toBe(covered);
          expect(end).toBeGreaterThan(begin);
          expect(top === 0 || begin - top >= reach).toBe(true);
          expect(top + height === length || top + height - end >= reach).toBe(true);
          covered = end;
        }
        expect(covered).toBe(length);
      },
    );
    fc.assert(property, { seed: 20251122 });
  });
});

/** 20 · log₁₀(range / rms difference). */
function psnr(a: Float32Array, b: Float32Array): number {
  let [low, high, sum] = [Number.POSITIVE_INFINITY, Number.NEGATIVE_INFINITY, 0];
  for (let i = 0; i < b.length; i++) {
    low = Math.min(low, b[i]!);
    high = Math.max(high, b[i]!);
    sum += (a[i]! - b[i]!) ** 2;
  }
  return 20 * Math.log10((high - low) / Math.sqrt(sum / b.length));
}

describe("a picture in strips", () => {
  it("decodes to what the whole picture decodes to: seams cannot be seen; pieces like the one before need fewer passes", async () => {
    const clip = noiseClip([3, 16, 2, 4], 3);
    // A picture whose parts differ as much as can be: the statistics of a strip alone would be far off.
    clip.values.forEach((value, i) => {
      const row = Math.floor(i / (2 * 4)) % 16;
      clip.values[i] = value * (row < 6 ? 0.2 : 2) + (row > 10 ? 1.5 : 0);
    });
    const plan = cut(1, 4, vae.model.parts.decode.reach * 2 + 2);
    const whole = await vae.decode(clip, { plan: cut(1, 4) });
    const { model, device, dtype } = vae;
    const sessions = new DirectionSessions("decode", { model, device, dtype, isClosed: () => false });
    const pictures = await PictureSession.open(sessions, plan, 16, 2);
    const pieces: Clip[] = [];
    for (const [i, x] of piecesOf(clip, [1, 2]).entries()) {
      const piece = { x, latents: 1, begins: i === 0, firstFrame: 4 * i };
      pieces.push(await (await pictures.start(piece)).result);
    }
    const { passes } = pictures.strips!;
    expect(psnr(joinClips(pieces).values, whole.values)).toBeGreaterThan(70);
    expect(passes).toHaveLength(3);
    expect(passes[2]).toBeLessThan(passes[0]!);
    await pictures.close();
    await sessions.free();
  });

  it("encodes to what the whole picture encodes to", async () => {
    const clip = noiseClip([5, 96, 16, 3], 4);
    const whole = await vae.encode(clip, { plan: cut(1, 4) });
    const striped = await vae.encode(clip, { plan: cut(1, 4, vae.model.parts.encode.reach * 2 + 3) });
    expect(striped.dims).toEqual(whole.dims);
    expect(psnr(striped.mode, whole.mode)).toBeGreaterThan(70);
  });

  it("is cancelled between strips", async () => {
    const controller = new AbortController();
    const plan = cut(1, 4, vae.model.parts.decode.reach * 2 + 2);
    const work = vae.decode(noiseClip([2, 16, 2, 4]), { plan, signal: controller.signal });
    setTimeout(() => controller.abort(), 30);
    await expect(work).rejects.toMatchObject({ code: "cancelled" });
  });
});

describe("strips of pictures whose height no strip divides", () => {
  it.each([
    [19, 3, 1],
    [23, 5, 2],
    [17, 1, 5],
  ])("decode and encode %i × %i latents to 70 dB or more", async (height, width, rows) => {
    const latents = noiseClip([2, height, width, 4], height);
    latents.values.forEach((value, i) => {
      latents.values[i] = value * (Math.floor(i / (width * 4)) % height < height / 3 ? 0.2 : 2);
    });
    const { decode, encode } = vae.model.parts;
    const whole = await vae.decode(latents, { plan: cut(1, 4) });
    const striped = await vae.decode(latents, { plan: cut(1, 4, 2 * decode.reach + rows) });
    expect(psnr(striped.values, whole.values)).toBeGreaterThan(70);
    const frames = noiseClip([5, 8 * height, 8 * width, 3], width);
    const encoded = await vae.encode(frames, { plan: cut(1, 4) });
    const inStrips = await vae.encode(frames, { plan: cut(1, 4, 2 * encode.reach + rows) });
    expect(psnr(inStrips.mode, encoded.mode)).toBeGreaterThan(70);
  });
});
