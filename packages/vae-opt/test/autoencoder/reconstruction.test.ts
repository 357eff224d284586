import { loadImage, type RgbImage } from "@vd/media";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { reconstructionSnr, SvdAutoencoder } from "../../src/index";

const TINY = "models/tiny-svd";
const SIDE = 64;
let vae: SvdAutoencoder;
beforeAll(async () => {
  vae = await SvdAutoencoder.fromPretrained(TINY);
});
afterAll(() => vae.close());

describe("reconstructionSnr", () => {
  it("is the variance over the error of encode and decode", async () => {
    const picture = await loadImage(`${TINY}/samples/two-balls.png`);
    const part: RgbImage = { width: SIDE, height: SIDE, data: new Uint8Array(3 * SIDE * SIDE) };
    for (let y = 0; y < SIDE; y++)
      part.data.set(picture.data.subarray(3 * 128 * y, 3 * (128 * y + SIDE)), 3 * SIDE * y);
    const data = Float32Array.from(part.data, (level) => level / 127.5 - 1);
    const size = { numFrames: 1, width: SIDE, height: SIDE };
    const came = (await vae.decode(await vae.encode({ ...size, data }))).data.map((x) => Math.min(Math.max(x, -1), 1));
    const mean = data.reduce((sum, value) => sum + value, 0) / data.length;
    const variance = data.reduce((sum, value) => sum + (value - mean) ** 2, 0);
    const error = data.reduce((sum, value, i) => sum + (value - came[i]!) ** 2, 0);
    expect(await reconstructionSnr(vae, part, { side: SIDE })).toBeCloseTo(10 * Math.log10(variance / error), 3);
  });

  it("is -Infinity for a picture of a single grey", async () => {
    const flat = { width: 8, height: 8, data: new Uint8Array(3 * 64).fill(90) };
    expect(await reconstructionSnr(vae, flat, { side: 32 })).toBe(Number.NEGATIVE_INFINITY);
  });

  it("refuses sides that do not fit, and stops", async () => {
    const picture = { width: 8, height: 8, data: new Uint8Array(3 * 64) };
    await expect(reconstructionSnr(vae, picture, { side: 30 })).rejects.toMatchObject({ code: "shape" });
    const signal = AbortSignal.abort();
    await expect(reconstructionSnr(vae, picture, { side: 32, signal })).rejects.toMatchObject({ code: "cancelled" });
  });

  it("refuses arguments that are none in sentences", async () => {
    const picture = { width: 8, height: 8, data: new Uint8Array(3 * 64) };
    const wrong: readonly [unknown[], string][] = [
      [[null, picture], "[reconstruction] [vae] expected an open SvdAutoencoder, got null"],
      [[{}, picture], "[reconstruction] [vae] expected an open SvdAutoencoder, got another object"],
      [[vae, null], "expected a picture { width, height, data }, got null"],
      [[vae, 7], "expected a picture { width, height, data }, got 7"],
      [[vae, picture, null], "[reconstruction] [options] expected an object, got null"],
      [[vae, picture, { sides: 3 }], "[reconstruction] [sides] expected one of side, signal, got an unknown option"],
      [[vae, picture, { signal: 7 }], "[reconstruction] [signal] expected an AbortSignal, got 7"],
      [
        [vae, picture, { side: "a" }],
        "[reconstruction] [side] expected a positive whole number of at most 65536, got a",
      ],
      [[vae, picture, { side: 1e9 }], "[reconstruction] [side] expected a positive whole number"],
    ];
    for (const [args, message] of wrong) {
      const error = await reconstructionSnr(...(args as Parameters<typeof reconstructionSnr>)).catch((e: unknown) => e);
      expect(error).toMatchObject({ name: "VdError", message: expect.stringContaining(message) });
    }
  });
});
