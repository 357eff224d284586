import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { outputTarget, readVideo, writeVideo } from "../../src/index";

const folder = mkdtempSync(join(tmpdir(), "vd-read-video-"));
const clip = join(folder, "clip.mp4");
const [WIDTH, HEIGHT, FRAMES, FPS] = [32, 16, 10, 10];

/** Each frame is grey, brighter than the one before. */
const greyOf = (index: number) => 20 + 20 * index;

beforeAll(async () => {
  const data = new Uint8Array(FRAMES * WIDTH * HEIGHT * 3);
  const size = WIDTH * HEIGHT * 3;
  for (let i = 0; i < FRAMES; i++) data.fill(greyOf(i), i * size, (i + 1) * size);
  const frame = (i: number) => data.subarray(i * size, (i + 1) * size);
  await writeVideo(outputTarget(clip), { width: WIDTH, height: HEIGHT, numFrames: FRAMES, fps: FPS, data, frame });
});
afterAll(() => rmSync(folder, { recursive: true, force: true }));

async function greys(options: { width: number; height: number; fps: number }) {
  const found: number[] = [];
  for await (const frame of readVideo(clip, options)) {
    expect(frame.length).toBe(options.width * options.height * 3);
    found.push(frame[frame.length >> 1]!);
  }
  return found;
}

describe("reading a video", () => {
  it("gives every frame in order, with its colours", async () => {
    const found = await greys({ width: WIDTH, height: HEIGHT, fps: FPS });
    expect(found.length).toBe(FRAMES);
    for (const [i, grey] of found.entries()) expect(Math.abs(grey - greyOf(i)), `frame ${i}`).toBeLessThan(4);
  });

  it("repeats frames for a higher rate, leaves some out for a lower one, and scales", async () => {
    const doubled = (await greys({ width: 8, height: 8, fps: 2 * FPS })).length;
    expect(Math.abs(doubled - 2 * FRAMES)).toBeLessThanOrEqual(1);
    expect((await greys({ width: 8, height: 8, fps: FPS / 2 })).length).toBe(FRAMES / 2);
  });

  it("refuses what is no video, what is not there, and stops when it is told to", async () => {
    const text = join(folder, "text.mp4");
    writeFileSync(text, "hello");
    const size = { width: 8, height: 8, fps: 1 };
    await expect(readVideo(text, size).next()).rejects.toThrow("[video] expected a video file, got");
    await expect(readVideo(join(folder, "none.mp4"), { ...size, where: "--input" }).next()).rejects.toThrow(
      "[--input]",
    );
    const signal = AbortSignal.abort(new Error("enough"));
    await expect(readVideo(clip, { ...size, signal }).next()).rejects.toThrow("enough");
  });
});
