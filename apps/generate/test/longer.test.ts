import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { encodePng, encodeWebp } from "@vd/media";
import type { GenerateOptions } from "@vd/svd-pipeline";
import sharp from "sharp";
import { describe, expect, it } from "vitest";
import { gradientFrames } from "../../../tooling/testing/gradient-frames";
import { temporaryFolder } from "../../../tooling/testing/temporary-folder";
import { runCommand } from "./support/harness";

const SIZE = { width: 64, height: 48 };

/** Runs a command line and gives its outcome, what was generated with, and how many frames the file has. */
async function run(argv: string[]) {
  const output = join(temporaryFolder(), "o.webp");
  let options: GenerateOptions | undefined;
  const onGenerate = (given: GenerateOptions) => {
    options = given;
  };
  const outcome = await runCommand(["-o", output, "-q", ...argv], { onGenerate });
  const pages = outcome.status === 0 ? (await sharp(output, { animated: true }).metadata()).pages : undefined;
  return { ...outcome, options, pages };
}

/** A video file of some frames that differ. */
async function clipOf(numFrames: number, name = "clip.webp"): Promise<string> {
  const data = gradientFrames(SIZE.width, SIZE.height, numFrames);
  const frame = (i: number) => data.subarray((i * data.length) / numFrames, ((i + 1) * data.length) / numFrames);
  const path = join(temporaryFolder(), name);
  writeFileSync(path, await encodeWebp({ ...SIZE, numFrames, fps: 7, data, frame }));
  return path;
}

describe("a video of several clips", () => {
  it("ends with how its seams are", async () => {
    const fake = { seams: [3, 6] };
    const output = join(temporaryFolder(), "o.webp");
    const { stdout } = await runCommand(["-o", output, "--frames", "9"], fake);
    expect(stdout).toMatch(
      /^clips {3}2 seams, motion there up to \d+\.\d\dx the usual; colours drifted by \d+\.\d of 255$/m,
    );
    const json = await runCommand(["-o", output, "--frames", "9", "--json"], fake);
    const done = json.events().at(-1) as { continuity: { seams: { frame: number }[] } };
    expect(done.continuity.seams.map(({ frame }) => frame)).toEqual([3, 6]);
    expect((await runCommand(["-o", output])).stdout).not.toContain("clips ");
  });
});

describe("--duration", () => {
  it.each([
    [["--duration", "2s"], 14],
    [["--duration", "1.5s", "--fps", "10"], 15],
    [["--duration", "500ms"], 4],
    [["--duration", "2s", "--boomerang"], 8],
  ])("%j makes %d frames", async (argv, numFrames) => {
    expect((await run(argv)).options).toMatchObject({ numFrames });
  });

  it.each([
    [["--duration", "4s", "--frames", "3"], "[--duration] expected no --frames beside it"],
    [["--duration", "1ms"], "[--duration] expected at least one frame at 7 a second"],
    [["--duration", "4"], "[--duration] expected a time such as 4s, 2.5s or 800ms"],
    [["--duration", "s"], "[--duration] expected a time such as 4s, 2.5s or 800ms"],
  ])("%j is refused", async (argv, message) => {
    const { status, stderr } = await run(argv);
    // Only the model knows the rate of one that names none.
    expect(status).toBe(message.includes("at least one frame") ? 1 : 2);
    expect(stderr).toContain(message);
  });
});

describe("--last", () => {
  it("gives the picture that the video ends with", async () => {
    const path = join(temporaryFolder(), "end.png");
    writeFileSync(path, await encodePng(SIZE, gradientFrames(SIZE.width, SIZE.height, 1)));
    expect((await run(["--last", path])).options!.lastImage).toMatchObject(SIZE);
  });

  it("is told apart from the first one where it cannot be read", async () => {
    const { status, stderr } = await run(["--last", "/no/such.png"]);
    expect(status).toBe(2 - 1);
    expect(stderr).toContain("[--last] expected a picture file");
  });
});

describe("--extend", () => {
  it("goes on from the last frames of a video and writes both as one", async () => {
    const { status, options, pages } = await run(["--extend", await clipOf(6), "--frames", "5", "--size", "64x48"]);
    expect(status).toBe(0);
    expect(options!.image).toMatchObject(SIZE);
    expect(options!.pastFrames).toHaveLength(3);
    // The first of the new frames is the video's last one.
    expect(pages).toBe(6 + 5 - 1);
  });

  it("keeps to the video's shape where no size is named", async () => {
    const { options } = await run(["--extend", await clipOf(2), "--frames", "3"]);
    expect(options).toMatchObject(SIZE);
    expect(options!.pastFrames).toHaveLength(1);
  });

  it.each([
    [32, 24],
    [128, 96],
  ])("brings the video to the wanted size, %d x %d", async (width, height) => {
    const clip = await clipOf(2);
    const output = join(temporaryFolder(), "o.webp");
    const { status } = await runCommand([
      "--extend",
      clip,
      "--frames",
      "3",
      "--size",
      `${width}x${height}`,
      "-o",
      output,
      "-q",
    ]);
    expect(status).toBe(0);
    const frame = (path: string) =>
      sharp(path, { page: 1 }).resize(16, 12, { fit: "fill" }).removeAlpha().raw().toBuffer();
    const [given, written] = [await frame(clip), await frame(output)];
    expect((await sharp(output).metadata()).width).toBe(width);
    const worst = Math.max(...given.map((value, i) => Math.abs(value - written[i]!)));
    expect(worst).toBeLessThan(40);
  });

  it("takes one picture as a video of one frame", async () => {
    const { options, pages } = await run(["--extend", await clipOf(1), "--frames", "3", "--size", "64x48"]);
    expect(options!.pastFrames).toEqual([]);
    expect(pages).toBe(3);
  });

  it("refuses what is no video, a picture beside it and a file that is not there", async () => {
    const text = join(temporaryFolder(), "clip.webp");
    writeFileSync(text, "no video");
    const clip = await clipOf(2);
    for (const [argv, message] of [
      [["--extend", text], "an animated GIF or WebP"],
      [["--extend", "/no/such.mp4"], "--extend"],
      [["--extend", clip, "cat.png"], "[--extend] expected no IMAGE beside it"],
    ] as const) {
      const { status, stderr, pages } = await run([...argv]);
      expect(status).not.toBe(0);
      expect(stderr).toContain(message);
      expect(pages).toBeUndefined();
    }
    expect(readFileSync(text, "utf8")).toBe("no video");
  });
});
