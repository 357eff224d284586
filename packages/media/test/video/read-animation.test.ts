import { writeFileSync } from "node:fs";
import { join } from "node:path";
import type { Sharp } from "sharp";
import sharp from "sharp";
import { describe, expect, it, vi } from "vitest";
import { temporaryFolder } from "../../../../tooling/testing/temporary-folder";
import type { RgbImage } from "../../src/index";
import * as library from "../../src/pictures/sharp";
import { encodeGif, encodeWebp } from "../../src/video/animation";
import { readAnimation } from "../../src/video/read-animation";
import { gradientVideo } from "../support/video";

const FRAMES = 21;
const video = gradientVideo(24, 16, FRAMES);

async function written(ending: "gif" | "webp"): Promise<string> {
  const path = join(temporaryFolder(), `clip.${ending}`);
  writeFileSync(path, await (ending === "gif" ? encodeGif : encodeWebp)(video));
  return path;
}

describe("reading an animation", () => {
  it.each(["gif", "webp"] as const)("gives the frames of a .%s as the library gives each alone", async (ending) => {
    const path = await written(ending);
    const frames: RgbImage[] = [];
    for await (const frame of readAnimation(path)) frames.push(frame);
    expect(frames.length).toBe(FRAMES);
    for (const [page, { width, height, data }] of frames.entries()) {
      const alone = await sharp(path, { page, pages: 1 }).removeAlpha().toColourspace("srgb").raw().toBuffer();
      expect([width, height], `frame ${page}`).toEqual([24, 16]);
      expect(Buffer.compare(alone, data), `frame ${page}`).toBe(0);
    }
  });

  it("looks into a long one a few times, not once for each frame", async () => {
    const path = await written("gif");
    const looks: number[] = [];
    const spy = vi.spyOn(library, "loadSharp").mockResolvedValue(((file: string, options?: { pages?: number }) => {
      if (options?.pages) looks.push(options.pages);
      return sharp(file, options);
    }) as unknown as typeof sharp);
    try {
      for await (const _ of readAnimation(path));
    } finally {
      spy.mockRestore();
    }
    expect(looks).toEqual([1, 2, 4, 8, 6]);
  });

  it("gives the frames before a damaged one, then the error", async () => {
    const path = await written("gif");
    const spy = vi.spyOn(library, "loadSharp").mockResolvedValue(((
      file: string,
      options?: { page?: number; pages?: number },
    ) => {
      const { page = 0, pages = 0 } = options ?? {};
      if (page <= 5 && 5 < page + pages) return { removeAlpha: () => damaged } as unknown as Sharp;
      return sharp(file, options);
    }) as unknown as typeof sharp);
    const damaged = {
      toColourspace: () => ({ raw: () => ({ toBuffer: () => Promise.reject(new Error("a damaged frame")) }) }),
    };
    let count = 0;
    try {
      await expect(
        (async () => {
          for await (const _ of readAnimation(path)) count++;
        })(),
      ).rejects.toThrow(`[${path}] expected an animated GIF or WebP, got a damaged frame`);
    } finally {
      spy.mockRestore();
    }
    expect(count).toBe(5);
  });

  it("ends once its signal fires, between two frames of a run as well", async () => {
    const path = await written("gif");
    const controller = new AbortController();
    let count = 0;
    const reading = (async () => {
      for await (const _ of readAnimation(path, controller.signal)) if (++count === 5) controller.abort();
    })();
    await expect(reading).rejects.toMatchObject({ code: "cancelled" });
    expect(count).toBe(5);
  });
});
