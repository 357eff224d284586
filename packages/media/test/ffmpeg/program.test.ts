import { spawnSync } from "node:child_process";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { temporaryFolder } from "../../../../tooling/testing/temporary-folder";
import { encodeWithFfmpeg, requireFfmpeg } from "../../src/ffmpeg/program";
import { fakeFfmpeg } from "../support/fake-ffmpeg";
import { gradientVideo, planesOf, psnr } from "../support/video";

const hasFfmpeg = spawnSync("ffmpeg", ["-version"]).status === 0;

// The fake is a script with a `#!` line, which Windows does not start.
describe.skipIf(process.platform === "win32")("requireFfmpeg", () => {
  it("is content with one that has the encoder", async () => {
    await expect(requireFfmpeg(fakeFfmpeg("good"), "webm")).resolves.toBeUndefined();
  });

  it("says what to do when there is none", async () => {
    await expect(requireFfmpeg("/no/such/ffmpeg", "webm", "--output")).rejects.toMatchObject({
      code: "unsupported",
      message:
        "[--output] expected an ffmpeg with libvpx-vp9 on the PATH, which .webm needs here, got none that starts. " +
        "Install ffmpeg, or choose the encoder builtin.",
    });
  });

  it("says what to do when it lacks the encoder", async () => {
    await expect(requireFfmpeg(fakeFfmpeg("old"), "mp4")).rejects.toMatchObject({
      message:
        "[video] expected an ffmpeg with libx264 on the PATH, which .mp4 needs here, got one without it. " +
        "Install an ffmpeg with libx264, or choose the encoder builtin.",
    });
  });
});

describe.skipIf(process.platform === "win32")("encodeWithFfmpeg", () => {
  const video = gradientVideo(640, 480, 6);

  it("sends every frame as I420 and tags it BT.709", async () => {
    const path = join(temporaryFolder(), "a:b.mp4");
    const done: number[] = [];
    await encodeWithFfmpeg(fakeFfmpeg("good"), "mp4", path, video, { onFrame: (numDone) => done.push(numDone) });
    const { numBytes, words } = JSON.parse(readFileSync(path, "utf8"));
    expect(numBytes).toBe((6 * 640 * 480 * 3) / 2);
    expect(done).toEqual([1, 2, 3, 4, 5, 6]);
    expect(words.join(" ")).toContain("-f rawvideo -pix_fmt yuv420p -s 640x480 -r 7 -i pipe:0 -c:v libx264");
    expect(words.join(" ")).toContain("-colorspace bt709 -color_range tv");
  });

  it("passes on why it gave up", async () => {
    await expect(encodeWithFfmpeg(fakeFfmpeg("full"), "webm", "/x/y.webm", video, {})).rejects.toMatchObject({
      code: "io",
      message:
        "[ffmpeg] expected a video written to /x/y.webm, got exit status 228: av_interleaved_write_frame(): " +
        "No space left on device. Free some space or choose another folder.",
    });
  });

  it("tells when it does not start", async () => {
    await expect(encodeWithFfmpeg("/no/such/ffmpeg", "mp4", "y.mp4", video, {})).rejects.toMatchObject({ code: "io" });
  });

  it("ends it when cancelled, even while it takes no frames", async () => {
    const signal = AbortSignal.timeout(300);
    const encoding = encodeWithFfmpeg(fakeFfmpeg("slow"), "mp4", "y.mp4", video, { signal });
    await expect(encoding).rejects.toMatchObject({ name: "TimeoutError" });
  });

  it.skipIf(!hasFfmpeg).each(["mp4", "webm"] as const)("makes a good %s (needs ffmpeg)", async (format) => {
    const path = join(temporaryFolder(), `video.${format}`);
    await encodeWithFfmpeg("ffmpeg", format, path, video, {});
    const decoded = spawnSync("ffmpeg", ["-v", "error", "-i", path, "-f", "rawvideo", "-pix_fmt", "yuv420p", "-"], {
      maxBuffer: 2 ** 26,
    });
    expect(psnr(planesOf(video.data, video), decoded.stdout)).toBeGreaterThan(37);
  });
});
