import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { type DecodePieces, SvdAutoencoder, type VideoLatents } from "../../src/index";
import { noise } from "../support/run-module";

let vae: SvdAutoencoder;
beforeAll(async () => {
  vae = await SvdAutoencoder.fromPretrained("models/tiny-svd");
});
afterAll(() => vae.close());

const LATENTS: VideoLatents = { numFrames: 2, width: 16, height: 8, data: noise(2 * 4 * 16 * 8) };
const decode = (pieces: unknown) => vae.decode(LATENTS, { pieces: pieces as DecodePieces });

describe("pieces of a decode that a caller gives", () => {
  it.each([0, -1, 1.5, Number.NaN, "2"])("refuses %s frames at a time instead of leaving frames out", async (count) => {
    await expect(decode({ chunkFrames: count })).rejects.toMatchObject({
      code: "attr",
      message: expect.stringContaining("[pieces] [chunkFrames] expected a whole number from 1"),
    });
  });

  it("refuses the whole plan where its pieces are meant, and what is no object", async () => {
    const plan = await vae.plan(LATENTS);
    await expect(decode(plan)).rejects.toThrow(/\[pieces\].*got also pieces\. Give `pieces` of what plan\(…\) returns/);
    await expect(decode(7)).rejects.toMatchObject({ code: "attr" });
    await expect(decode(null)).rejects.toMatchObject({ code: "attr" });
  });

  it("refuses tiles that do not cover the decoder", async () => {
    const { pieces } = await vae.plan(LATENTS, { maxBytes: 8e6 });
    const tiles = pieces.tiles!;
    expect(tiles).toBeDefined();
    const [block, ...others] = tiles.blocks;
    for (const wrong of [
      {},
      { ...tiles, blocks: [] },
      { ...tiles, blocks: others },
      { ...tiles, numHeadBlocks: 99 },
      { ...tiles, headChunkFrames: 0 },
      { ...tiles, blocks: [{ ...block, rows: 0 }, ...others] },
      { ...tiles, blocks: [{ ...block, frames: -1 }, ...others] },
      { ...tiles, blocks: [{ ...block, onDevice: undefined }, ...others] },
    ])
      await expect(decode({ tiles: wrong })).rejects.toMatchObject({ code: "attr" });
    expect((await decode(pieces)).data.every(Number.isFinite)).toBe(true);
  });

  it("says small amounts of memory in units that show them", async () => {
    await expect(vae.decode(LATENTS, { maxBytes: 2 ** 20 })).rejects.toThrow(/fits into 1\.00 MiB, got \d+\.\d\d MiB/);
  });
});
