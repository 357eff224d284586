import { describe, expect, it } from "vitest";
import { lumaWeights } from "../../src/ffmpeg/encoding-arguments";
import { encodeBuiltin } from "../../src/video/builtin";
import { convertByFfmpeg, decodeByFfmpeg } from "../support/ffmpeg";
import { gradientVideo, planesOf, psnr } from "../support/video";

/** BT.709 three times and limited range, as the colr box of MP4 files says it. */
const BT709_COLR = "colrnclx\0\x01\0\x01\0\x01\0";

const letters = (bytes: Uint8Array) => Buffer.from(bytes).toString("latin1");

/** The level of the H.264 decoder set-up in an MP4 file, times ten. */
const levelOf = (mp4: Uint8Array) => mp4[letters(mp4).indexOf("avcC") + "avcC".length + 3]!;

/** The mean of one channel's differences, by plane of I420 planes. */
function meanShifts(
  before: Uint8Array,
  after: Uint8Array,
  { width, height, numFrames }: ReturnType<typeof gradientVideo>,
) {
  const luma = width * height;
  const sums = [0, 0, 0];
  for (const [i, value] of before.entries()) {
    const at = i % (luma * 1.5);
    sums[at < luma ? 0 : at < luma * 1.25 ? 1 : 2]! += after[i]! - value;
  }
  return sums.map((sum, plane) => Math.abs(sum) / (numFrames * (plane === 0 ? luma : luma / 4)));
}

describe("encodeBuiltin", () => {
  it.each([
    ["mp4", 128, 96, 14, 7],
    ["mp4", 8, 8, 1, 1],
    ["webm", 128, 96, 5, 24],
  ] as const)(
    "writes %s of %ix%i, %i frames at %i fps, that decodes to the same pictures",
    async (format, width, height, numFrames, fps) => {
      const video = gradientVideo(width, height, numFrames, fps);
      const done: number[] = [];
      const file = await encodeBuiltin(format, video, { onFrame: (numDone) => done.push(numDone) });
      expect(done).toEqual(Array.from({ length: video.numFrames }, (_, i) => i + 1));
      const decoded = await decodeByFfmpeg(file);
      const planes = planesOf(video.data, video, lumaWeights("wasm", format));
      expect(psnr(planes, decoded)).toBeGreaterThan(44);
      // A mean over fewer samples says little.
      if (video.width >= 64) for (const shift of meanShifts(planes, decoded, video)) expect(shift).toBeLessThan(0.15);
    },
  );

  it("puts the index before the frames and lasts as long as the video", async () => {
    const file = Buffer.from(await encodeBuiltin("mp4", gradientVideo(32, 16, 6, 24)));
    const [moov, mdat] = [file.indexOf("moov"), file.indexOf("mdat")];
    expect(moov).toBeGreaterThan(0);
    expect(moov).toBeLessThan(mdat);
    const header = file.indexOf("mvhd") + "mvhd".length;
    expect(file.readUInt32BE(header + 16) / file.readUInt32BE(header + 12)).toBeCloseTo(6 / 24, 3);
  });

  it("tags BT.709 in the container and in the bitstream", async () => {
    const file = await encodeBuiltin("mp4", gradientVideo(64, 48, 2));
    expect(letters(file)).toContain(BT709_COLR);
    const bitstream = await convertByFfmpeg(file, ["-c", "copy", "-f", "h264"]);
    const again = await convertByFfmpeg(bitstream, ["-c", "copy", "-f", "mp4"]);
    expect(letters(again)).toContain(BT709_COLR);
  });

  it("stores the colours as decoders read them", async () => {
    const [width, height] = [32, 32];
    const orange = Uint8Array.from({ length: width * height * 3 }, (_, i) => [230, 120, 30][i % 3]!);
    const video = { width, height, numFrames: 1, fps: 7, data: orange, frame: () => orange };
    for (const format of ["mp4", "webm"] as const) {
      const rgb = await convertByFfmpeg(await encodeBuiltin(format, video), ["-f", "rawvideo", "-pix_fmt", "rgb24"]);
      for (const [i, value] of rgb.entries()) expect(Math.abs(value - orange[i]!)).toBeLessThanOrEqual(3);
    }
  });

  it("chooses the level by the frame rate too", async () => {
    const slow = levelOf(await encodeBuiltin("mp4", gradientVideo(320, 240, 2, 7)));
    const fast = levelOf(await encodeBuiltin("mp4", gradientVideo(320, 240, 2, 240)));
    // Table A-1 of ITU-T H.264: 300 macroblocks 7 times a second are within level 1.2's 6000, 240 times need level 3.1's.
    expect(slow).toBeLessThanOrEqual(20);
    expect(fast).toBe(31);
  });

  it("gives the same bytes twice", async () => {
    const video = gradientVideo(64, 48, 4);
    const first = await encodeBuiltin("mp4", video);
    expect(Buffer.compare(first, await encodeBuiltin("mp4", video))).toBe(0);
  });

  it("stops between frames when it is cancelled, and works again after that", async () => {
    const controller = new AbortController();
    const onFrame = (numDone: number) => {
      if (numDone === 2) controller.abort(new Error("enough"));
    };
    const options = { signal: controller.signal, onFrame };
    await expect(encodeBuiltin("mp4", gradientVideo(64, 48, 50), options)).rejects.toThrow("enough");
    expect(letters(await encodeBuiltin("mp4", gradientVideo(64, 48, 2)))).toContain("ftyp");
  });

  it("refuses odd sides, and says why FFmpeg takes no frames", async () => {
    await expect(encodeBuiltin("mp4", gradientVideo(63, 48, 2))).rejects.toThrow(
      "[video] expected even sides, got 63x48. Use an even size, or write .webp, .gif or .png",
    );
    const broken = { ...gradientVideo(64, 48, 2), fps: 1e-12 };
    await expect(encodeBuiltin("mp4", broken)).rejects.toMatchObject({
      code: "unsupported",
      where: "encoder builtin",
      got: expect.stringContaining("2 frames of 64x48: "),
    });
  });
});
