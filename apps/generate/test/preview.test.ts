import { readdirSync } from "node:fs";
import { join } from "node:path";
import sharp from "sharp";
import { describe, expect, it } from "vitest";
import { gradientFrames } from "../../../tooling/testing/gradient-frames";
import { temporaryFolder } from "../../../tooling/testing/temporary-folder";
import { checkPreviewPath, type PreviewOptions, previewInterval, previewWriter } from "../src/preview";

function previewOf(step: number) {
  return { step, width: 8, height: 6, numFrames: 3, frames: gradientFrames(8, 6, 3, step) };
}

function writerInto(folder: string, name: string, written: number[], failures: unknown[] = []) {
  const options: PreviewOptions = {
    ...{ path: join(folder, name), fps: 7 },
    onWritten: (_, step) => written.push(step),
    onFailure: (error) => failures.push(error),
  };
  return previewWriter(options);
}

describe("previewWriter", () => {
  it.each([
    ["p.webp", { format: "webp", width: 128, pageHeight: 96, pages: 3 }],
    ["p.gif", { format: "gif", width: 128, pageHeight: 96, pages: 3 }],
    ["p.png", { format: "png", width: 384, height: 96 }],
  ])("writes %s, enlarged", async (name, expected) => {
    const folder = temporaryFolder();
    const writer = writerInto(folder, name, []);
    writer.take(previewOf(1));
    await writer.settle();
    expect(await sharp(join(folder, name), { animated: true }).metadata()).toMatchObject(expected);
    expect(readdirSync(folder)).toEqual([name]);
  });

  it("puts frames side by side, pixel by pixel", async () => {
    const folder = temporaryFolder();
    const writer = writerInto(folder, "p.png", []);
    const preview = previewOf(1);
    writer.take(preview);
    await writer.settle();
    const strip = await sharp(join(folder, "p.png")).raw().toBuffer();
    const [frameIndex, y, x] = [2, 5, 3];
    const pixel = 3 * ((frameIndex * 6 + y) * 8 + x);
    const enlarged = 3 * ((y * 16 + 9) * 384 + frameIndex * 128 + x * 16 + 11);
    expect([...strip.subarray(enlarged, enlarged + 3)]).toEqual([...preview.frames.subarray(pixel, pixel + 3)]);
  });

  it("takes a copy, and skips steps while it writes", async () => {
    const folder = temporaryFolder();
    const written: number[] = [];
    const writer = writerInto(folder, "p.png", written);
    const preview = previewOf(1);
    writer.take(preview);
    preview.frames.fill(0);
    writer.take(previewOf(2));
    await writer.settle();
    expect(written).toEqual([1]);
    const { channels } = await sharp(join(folder, "p.png")).stats();
    expect(channels[0]!.mean).toBeGreaterThan(50);
  });

  it("reports a failure once and goes on", async () => {
    const failures: unknown[] = [];
    const writer = writerInto("/no/such/folder", "p.webp", [], failures);
    for (const step of [1, 2]) {
      writer.take(previewOf(step));
      await writer.settle();
    }
    expect(failures).toHaveLength(1);
    expect(failures[0]).toMatchObject({ code: "io", where: "--preview" });
  });
});

describe("previewInterval", () => {
  it.each([
    [1, 1],
    [4, 1],
    [25, 3],
    [80, 10],
  ])("of %i steps is %i", (steps, interval) => {
    expect(previewInterval(steps)).toBe(interval);
  });
});

describe("checkPreviewPath", () => {
  it("lists the formats", () => {
    expect(() => checkPreviewPath("cat.jpg")).toThrow(
      '[--preview] expected a file name that ends in .webp, .gif, .png, got "cat.jpg"',
    );
    expect(() => checkPreviewPath("a/b.WEBP")).not.toThrow();
  });
});
