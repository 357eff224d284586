import { mkdirSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import sharp from "sharp";
import { describe, expect, it } from "vitest";
import { temporaryFolder } from "../../../../tooling/testing/temporary-folder";
import { outputTarget } from "../../src/video/target";
import { checkOutput, type WriteOptions, writeVideo } from "../../src/video/write-video";
import { fakeFfmpeg } from "../support/fake-ffmpeg";
import { gradientVideo } from "../support/video";

const video = gradientVideo(32, 24, 4);
const options: WriteOptions = { overwrite: true, encoder: "auto", ffmpeg: "/no/such/ffmpeg" };

describe("writeVideo", () => {
  it.each([
    ["x.mp4", "builtin", "ftyp"],
    ["x.webm", "builtin", "webm"],
    ["x.webp", "sharp", "WEBP"],
    ["x.gif", "sharp", "GIF89a"],
  ])("writes %s by %s", async (name, encoder, mark) => {
    const folder = temporaryFolder();
    const path = join(folder, name);
    const done: number[] = [];
    const onFrame = (numDone: number) => done.push(numDone);
    const written = await writeVideo(outputTarget(path), video, { ...options, onFrame });
    const bytes = readFileSync(path);
    expect(written).toEqual({ fileBytes: bytes.length, encoder });
    expect(bytes.subarray(0, 64).toString("latin1")).toContain(mark);
    expect(done.at(-1)).toBe(4);
    expect(readdirSync(folder)).toEqual([name]);
  });

  it.skipIf(process.platform === "win32").each([
    ["x.webm", "ffmpeg"],
    ["x.mp4", "ffmpeg"],
  ] as const)("has ffmpeg write %s with --encoder %s", async (name, encoder) => {
    const folder = temporaryFolder();
    const ffmpeg = fakeFfmpeg("good");
    const written = await writeVideo(outputTarget(join(folder, name)), video, { ...options, encoder, ffmpeg });
    expect(written.encoder).toBe("ffmpeg");
    expect(readdirSync(folder)).toEqual([name]);
  });

  it.skipIf(process.platform === "win32")("leaves nothing behind an ffmpeg that fails", async () => {
    const folder = temporaryFolder();
    const target = outputTarget(join(folder, "x.webm"));
    await expect(
      writeVideo(target, video, { ...options, encoder: "ffmpeg", ffmpeg: fakeFfmpeg("full") }),
    ).rejects.toThrow("No space left");
    expect(readdirSync(folder)).toEqual([]);
  });

  it.each(["x.mp4", "x.webm", "x.gif", "x.webp", "frames/"])(
    "refuses what is no video, and leaves nothing of %s",
    async (name) => {
      const folder = temporaryFolder();
      const write = (change: object) =>
        writeVideo(outputTarget(`${folder}/${name}`), { ...video, ...change }, { ...options, overwrite: true });
      for (const change of [{ numFrames: 0 }, { numFrames: 1.5 }, { fps: 0 }, { fps: Number.NaN }, { width: -2 }])
        await expect(write(change)).rejects.toMatchObject({ code: "attr" });
      const short = () => video.frame(0).subarray(3);
      await expect(write({ frame: short })).rejects.toThrow(
        /\[video\] \[frame 0\] expected 2304 bytes .* got 2301 bytes/,
      );
      expect(readdirSync(folder)).toEqual([]);
    },
  );

  it("tells of the frames that players would not show", async () => {
    const path = join(temporaryFolder(), "x.gif");
    const { warning } = await writeVideo(outputTarget(path), { ...video, fps: 100 }, options);
    expect(warning).toContain("2 of 4 frames were written");
  });

  it.each(["x.mp4", "x.webm", "x.gif", "x.webp", "frames/", "f-%d.png"])(
    "leaves nothing of %s when cancelled",
    async (name) => {
      const folder = temporaryFolder();
      const controller = new AbortController();
      const onFrame = () => controller.abort(new Error("enough"));
      const target = outputTarget(join(folder, "./") + name);
      await expect(writeVideo(target, video, { ...options, signal: controller.signal, onFrame })).rejects.toThrow(
        "enough",
      );
      expect(readdirSync(folder)).toEqual([]);
    },
  );
});

describe("PNG frames", () => {
  const names = ["frame-0000.png", "frame-0001.png", "frame-0002.png", "frame-0003.png"];

  it("make a new folder in one go", async () => {
    const folder = temporaryFolder();
    const target = outputTarget(`${join(folder, "frames")}/`);
    await checkOutput(target, options);
    expect(readdirSync(folder)).toEqual([]);
    const written = await writeVideo(target, video, options);
    expect(readdirSync(folder)).toEqual(["frames"]);
    expect(readdirSync(join(folder, "frames"))).toEqual(names);
    const pixels = await sharp(join(folder, "frames", names[3]!))
      .raw()
      .toBuffer();
    expect(Buffer.compare(pixels, video.frame(3))).toBe(0);
    const sizes = names.map((name) => readFileSync(join(folder, "frames", name)).length);
    expect(written.fileBytes).toBe(sizes.reduce((sum, size) => sum + size, 0));
  });

  it("go beside what a folder holds, and tell of older frames", async () => {
    const folder = temporaryFolder();
    writeFileSync(join(folder, "notes.txt"), "mine");
    writeFileSync(join(folder, "frame-0004.png"), "older");
    const written = await writeVideo(outputTarget(`${folder}/`), video, options);
    expect(readdirSync(folder)).toEqual([...names, "frame-0004.png", "notes.txt"]);
    expect(written.warning).toContain("frame-0004.png is an older frame");
  });

  it("are numbered by the pattern", async () => {
    const folder = temporaryFolder();
    await writeVideo(outputTarget(join(folder, "f%02d.png")), video, options);
    expect(readdirSync(folder)).toEqual(["f00.png", "f01.png", "f02.png", "f03.png"]);
  });

  it("are all refused when one is there and must be kept", async () => {
    const folder = temporaryFolder();
    writeFileSync(join(folder, "f2.png"), "mine");
    const target = outputTarget(join(folder, "f%d.png"));
    await expect(writeVideo(target, video, { ...options, overwrite: false })).rejects.toThrow("a name that is free");
    expect(readdirSync(folder)).toEqual(["f2.png"]);
  });

  it("need a folder, unless it is theirs", async () => {
    const folder = temporaryFolder();
    await expect(checkOutput(outputTarget(join(folder, "no", "f%d.png")), options)).rejects.toThrow("none named");
    await expect(checkOutput(outputTarget(`${join(folder, "no", "frames")}/`), options)).rejects.toThrow("none named");
    writeFileSync(join(folder, "file"), "");
    await expect(checkOutput(outputTarget(`${join(folder, "file")}/`), options)).rejects.toMatchObject({ code: "io" });
    mkdirSync(join(folder, "there"));
    await expect(checkOutput(outputTarget(`${join(folder, "there")}/`), options)).resolves.toBeUndefined();
  });
});
