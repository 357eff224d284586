import { spawnSync } from "node:child_process";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { temporaryFolder } from "../../../../tooling/testing/temporary-folder";
import { findBox, listBoxes } from "../../src/video/mp4-boxes";
import { encodeBuiltinMp4 } from "../../src/video/mp4-builtin";
import { gradientVideo, planesOf, psnr } from "../support/video";

const TABLE = ["moov", "trak", "mdia", "minf", "stbl"];
const hasFfmpeg = spawnSync("ffmpeg", ["-version"]).status === 0;

/** A box's body as big-endian words from a byte offset on. */
function words(file: Uint8Array, path: readonly string[], offset = 0): number[] {
  const box = findBox(file, path);
  const view = new DataView(file.buffer, file.byteOffset, file.byteLength);
  const count = Math.floor((box.end - box.bodyStart - offset) / 4);
  return Array.from({ length: count }, (_, i) => view.getUint32(box.bodyStart + offset + 4 * i));
}

describe("encodeBuiltinMp4", () => {
  it.each([
    [128, 128, 14, 7],
    [72, 40, 3, 24],
    [8, 8, 1, 1],
  ])("stores %ix%i, %i frames at %i fps", async (width, height, numFrames, fps) => {
    const file = await encodeBuiltinMp4(gradientVideo(width, height, numFrames, fps), {});
    const [, , , timescale, duration] = words(file, ["moov", "mvhd"]);
    expect(duration! / timescale!).toBeCloseTo(numFrames / fps, 9);
    expect(words(file, [...TABLE, "stts"])).toEqual([0, 1, numFrames, 512]);
    const [, , count, ...sizes] = words(file, [...TABLE, "stsz"]);
    expect(count).toBe(numFrames);
    const media = findBox(file, ["mdat"]);
    expect(sizes.reduce((sum, size) => sum + size, 0)).toBe(media.end - media.bodyStart);
    const sample = findBox(file, [...TABLE, "stsd", "avc1"]).bodyStart;
    const view = new DataView(file.buffer, file.byteOffset);
    expect([view.getUint16(sample + 24), view.getUint16(sample + 26)]).toEqual([width, height]);
  });

  it("carries a decoder set-up and BT.709 limited range tags", async () => {
    const file = await encodeBuiltinMp4(gradientVideo(64, 48, 4), {});
    const config = findBox(file, [...TABLE, "stsd", "avc1", "avcC"]);
    const [version, profile, , , lengthSize, numSps] = file.subarray(config.bodyStart, config.end);
    expect({ version, profile, lengthSize: lengthSize! & 3, numSps: numSps! & 31 }).toEqual({
      ...{ version: 1, profile: 66, lengthSize: 3, numSps: 1 },
    });
    const colour = findBox(file, [...TABLE, "stsd", "avc1", "colr"]);
    expect(Buffer.from(file.subarray(colour.bodyStart, colour.end)).toString("latin1")).toBe(
      "nclx\0\x01\0\x01\0\x01\0",
    );
  });

  it("starts with a key frame and has one at least every 48 frames", async () => {
    const file = await encodeBuiltinMp4(gradientVideo(16, 16, 100), {});
    expect(words(file, [...TABLE, "stss"])).toEqual([0, 3, 1, 49, 97]);
  });

  it("gives the same bytes twice and leaves no handlers behind", async () => {
    const before = process.listenerCount("uncaughtException") + process.listenerCount("unhandledRejection");
    const video = gradientVideo(64, 48, 4);
    const first = await encodeBuiltinMp4(video, {});
    expect(Buffer.compare(first, await encodeBuiltinMp4(video, {}))).toBe(0);
    expect(process.listenerCount("uncaughtException") + process.listenerCount("unhandledRejection")).toBe(before);
  });

  it("stops between frames when it is cancelled, and works again after that", async () => {
    const controller = new AbortController();
    const onFrame = (numDone: number) => {
      if (numDone === 2) controller.abort(new Error("enough"));
    };
    const options = { signal: controller.signal, onFrame };
    await expect(encodeBuiltinMp4(gradientVideo(64, 48, 50), options)).rejects.toThrow("enough");
    expect(listBoxes(await encodeBuiltinMp4(gradientVideo(64, 48, 2), {}))).toHaveLength(3);
  });

  it("refuses odd sides", async () => {
    await expect(encodeBuiltinMp4(gradientVideo(63, 48, 2), {})).rejects.toThrow(
      "[video] expected even sides, got 63x48. Use an even size, or write .webp, .gif or .png",
    );
  });

  it.skipIf(!hasFfmpeg)("decodes to the same picture (needs ffmpeg on the PATH)", async () => {
    const video = gradientVideo(128, 96, 14);
    const path = join(temporaryFolder(), "video.mp4");
    writeFileSync(path, await encodeBuiltinMp4(video, {}));
    const decoded = spawnSync("ffmpeg", ["-v", "error", "-i", path, "-f", "rawvideo", "-pix_fmt", "yuv420p", "-"], {
      maxBuffer: 2 ** 26,
    });
    expect(decoded.stderr.toString()).toBe("");
    expect(psnr(planesOf(video.data, video), decoded.stdout)).toBeGreaterThan(37);
  });
});
