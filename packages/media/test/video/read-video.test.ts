import { spawnSync } from "node:child_process";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { outputTarget, readVideo, writeVideo } from "../../src/index";
import { fakeFfmpeg } from "../support/fake-ffmpeg";
import { convertByFfmpeg } from "../support/ffmpeg";

const hasFfmpeg = spawnSync("ffmpeg", ["-version"]).status === 0;

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

async function greys(size?: { width: number; height: number }, fps?: number) {
  const found: number[] = [];
  for await (const { width, height, data } of readVideo(clip, { size, fps })) {
    expect({ width, height }).toEqual(size ?? { width: WIDTH, height: HEIGHT });
    expect(data.length).toBe(width * height * 3);
    found.push(data[data.length >> 1]!);
  }
  return found;
}

describe("reading a video", () => {
  it("gives every frame in order, with its colours", async () => {
    const found = await greys();
    expect(found.length).toBe(FRAMES);
    for (const [i, grey] of found.entries()) expect(Math.abs(grey - greyOf(i)), `frame ${i}`).toBeLessThan(4);
  });

  it("repeats frames for a higher rate, leaves some out for a lower one, and scales", async () => {
    const doubled = (await greys({ width: 8, height: 8 }, 2 * FPS)).length;
    expect(Math.abs(doubled - 2 * FRAMES)).toBeLessThanOrEqual(1);
    expect((await greys({ width: 8, height: 8 }, FPS / 2)).length).toBe(FRAMES / 2);
  });

  const isReadWhole = async (decoder: "ffmpeg" | "builtin") => {
    const short = join(folder, `short ${decoder}.mp4`);
    const data = new Uint8Array(WIDTH * HEIGHT * 3).fill(greyOf(3));
    await writeVideo(outputTarget(short), {
      width: WIDTH,
      height: HEIGHT,
      numFrames: 1,
      fps: 25,
      data,
      frame: () => data,
    });
    const frames = [];
    for await (const frame of readVideo(short, { fps: 1, decoder })) frames.push(frame);
    expect(frames).toHaveLength(1);
    expect(Math.abs(frames[0]!.data[0]! - greyOf(3))).toBeLessThan(4);
  };
  it.skipIf(!hasFfmpeg)("has a frame of a video that is shorter than one of the rate, by ffmpeg (needs ffmpeg)", () =>
    isReadWhole("ffmpeg"),
  );
  it("has a frame of a video that is shorter than one of the rate, by builtin", () => isReadWhole("builtin"));

  it.skipIf(!hasFfmpeg)("says of sound alone that there are no pictures (needs ffmpeg)", async () => {
    const sound = join(folder, "sound.mp4");
    spawnSync("ffmpeg", ["-v", "error", "-f", "lavfi", "-i", "sine=duration=0.2", sound]);
    await expect(readVideo(sound).next()).rejects.toThrow(
      `[${sound}] expected a video with frames, got one without pictures.`,
    );
  });

  it("refuses what is no video, what is not there, and stops when it is told to", async () => {
    const text = join(folder, "text.mp4");
    writeFileSync(text, "hello");
    await expect(readVideo(text).next()).rejects.toThrow(`[${text}] expected a video with frames, got`);
    await expect(readVideo(join(folder, "none.mp4"), { where: "--input" }).next()).rejects.toThrow("[--input]");
    const signal = AbortSignal.abort(new Error("enough"));
    await expect(readVideo(clip, { signal }).next()).rejects.toMatchObject({ cause: { message: "enough" } });
  });

  const decoders = hasFfmpeg ? (["ffmpeg", "builtin"] as const) : (["builtin"] as const);
  it.each(decoders)("gives 8 bits of a video that has more, by %s", async (decoder) => {
    // As PPM is written, 16 bits a level, where nothing else is said: readers of 8 bits found other bytes.
    const levels = Uint16Array.from({ length: WIDTH * HEIGHT * 3 }, () => 100 * 257);
    const ppm = Buffer.concat([Buffer.from(`P6\n${WIDTH} ${HEIGHT}\n65535\n`), Buffer.from(levels.buffer).swap16()]);
    const deep = join(folder, `deep ${decoder}.mkv`);
    writeFileSync(deep, await convertByFfmpeg(ppm, ["-c:v", "ffv1", "-pix_fmt", "yuv420p10le", "-f", "matroska"]));
    const frames = [];
    for await (const frame of readVideo(deep, { decoder })) frames.push(frame);
    expect(frames.map(({ width, height, data }) => [width, height, data.length])).toEqual([
      [WIDTH, HEIGHT, WIDTH * HEIGHT * 3],
    ]);
    expect(Math.abs(frames[0]!.data[0]! - 100)).toBeLessThan(3);
  });

  it.each(decoders)("says of a file with sound alone what it is, by %s", async (decoder) => {
    const sound = join(folder, `sound ${decoder}.wav`);
    const header = Buffer.alloc(44 + 1_000);
    header.write("RIFF", 0);
    header.writeUInt32LE(36 + 1_000, 4);
    header.write("WAVEfmt ", 8);
    header.writeUInt32LE(16, 16);
    header.writeUInt16LE(1, 20);
    header.writeUInt16LE(1, 22);
    header.writeUInt32LE(8_000, 24);
    header.writeUInt32LE(8_000, 28);
    header.writeUInt16LE(1, 32);
    header.writeUInt16LE(8, 34);
    header.write("data", 36);
    header.writeUInt32LE(1_000, 40);
    writeFileSync(sound, header);
    await expect(readVideo(sound, { decoder }).next()).rejects.toThrow("got one without pictures. It has sound alone");
  });

  it("names the file once, and says what FFmpeg as WebAssembly found", async () => {
    const text = join(folder, "no video.mp4");
    writeFileSync(text, "hello");
    for (const decoder of decoders)
      await expect(readVideo(text, { decoder }).next()).rejects.toThrow(
        "got Invalid data found when processing input.",
      );
  });

  it("is understood by an ffmpeg of before 5.1", async () => {
    const frames = [];
    for await (const frame of readVideo(clip, { ffmpeg: fakeFfmpeg("early"), decoder: "ffmpeg" })) frames.push(frame);
    expect(frames).toEqual([{ width: 1, height: 1, data: Uint8Array.from(Buffer.from("abc")) }]);
  });
});
