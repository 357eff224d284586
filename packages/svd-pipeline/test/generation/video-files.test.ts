import { existsSync, readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { buffer } from "node:stream/consumers";
import { describe, expect, it } from "vitest";
import { failureOf } from "../../../../tooling/testing/failure";
import { noCalls } from "../../src/denoising/call-planner";
import { makeVideo } from "../../src/generation/video";
import { loadImage } from "../../src/index";
import { temporaryFolder } from "../support/tiny-model";

const [numFrames, height, width] = [3, 8, 16];
const PARTS = { width, height, numFrames, fps: 7, seed: 5n, timings: {}, peakBytes: 0, denoiserCalls: noCalls() };
const data = Uint8Array.from({ length: numFrames * height * width * 3 }, (_, i) => (i * 7 + (i >> 7) * 31) % 256);
const video = makeVideo({ ...PARTS, result: { data, raw: { dtype: "f32", bytes: new Uint8Array(data.length * 4) } } });

describe("a video as a file", () => {
  it("is saved in the format of its name", async () => {
    const folder = temporaryFolder();
    const path = join(folder, "clip.webp");
    const { fileBytes } = await video.save(path);
    expect(readFileSync(path)).toHaveLength(fileBytes);
    expect(await loadImage(path)).toMatchObject({ width, height });
    expect(readFileSync(path, "latin1").slice(8, 12)).toBe("WEBP");
    await video.save(`${join(folder, "frames")}/`);
    expect(readdirSync(join(folder, "frames"))).toHaveLength(numFrames);
  });

  it("is a buffer or a stream of the same bytes", async () => {
    for (const format of ["mp4", "gif", "webp"] as const) {
      const bytes = await video.toBuffer(format);
      expect(Buffer.isBuffer(bytes) && bytes.length > 0).toBe(true);
      expect((await buffer(video.toStream(format))).equals(bytes)).toBe(true);
    }
  });

  it("is refused with a sentence, and nothing is left behind", async () => {
    const folder = temporaryFolder();
    expect((await failureOf(video.save(join(folder, "clip.avi")))).code).toBe("attr");
    expect((await failureOf(video.save(join(folder, "none", "clip.webp")))).code).toBe("io");
    await video.save(join(folder, "clip.gif"));
    expect((await failureOf(video.save(join(folder, "clip.gif"), { overwrite: false }))).code).toBe("io");
    expect(readdirSync(folder)).toEqual(["clip.gif"]);
    const latents = makeVideo({ ...PARTS, result: new Float32Array(12) });
    expect((await failureOf(latents.save(join(folder, "latents.webp")))).code).toBe("unsupported");
    expect((await failureOf(latents.toBuffer("webp"))).code).toBe("unsupported");
    expect(existsSync(join(folder, "latents.webp"))).toBe(false);
  });
});
