import { describe, expect, it } from "vitest";
import { defaultPreviewPath, outputTarget } from "../../src/video/target";

describe("outputTarget", () => {
  it.each([
    ["out.mp4", "mp4"],
    ["a/b.WEBM", "webm"],
    ["a.b.gif", "gif"],
    ["x.webp", "webp"],
  ])("%s is %s", (path, format) => {
    expect(outputTarget(path)).toEqual({ kind: "file", format, path });
  });

  it.each([
    ["f-%d.png", ".", false, "f-7.png", "f-123.png"],
    ["a/f-%03d.png", "a", false, "f-007.png", "f-123.png"],
    ["frames/", "frames/", true, "frame-0007.png", "frame-0123.png"],
  ])("%s are PNG frames", (path, folder, ownsFolder, seventh, later) => {
    const target = outputTarget(path);
    if (target.kind !== "frames") throw new Error(target.kind);
    expect(target).toMatchObject({ format: "png", folder, ownsFolder });
    expect([target.nameOf(7), target.nameOf(123)]).toEqual([seventh, later]);
  });

  it.each([
    ["out.mp5", 'expected a file name that ends in .mp4, .webm, .gif, .webp or .png, got ".mp5". Did you mean .mp4?'],
    ["out", "which has no extension. Name a file such as out.mp4, or end the name with / for a folder"],
    ["f.png", "Write f-%03d.png, or end the name with / for a folder of frames"],
    ["f-%d-%d.png", "one %d or %03d"],
    ["f-%x.png", "one %d or %03d"],
    [".mp4", "which has no extension"],
  ])("refuses %s", (path, words) => {
    expect(() => outputTarget(path)).toThrow(expect.objectContaining({ code: "attr", where: "video" }));
    expect(() => outputTarget(path)).toThrow(words);
  });
});

describe("defaultPreviewPath", () => {
  it.each([
    ["out.mp4", "out.preview.webp"],
    ["a/b.c.gif", "a/b.c.preview.webp"],
    ["a/f-%03d.png", "a/f.preview.webp"],
    ["%d.png", "preview.webp"],
    ["a/frames.v2/", "a/frames.v2.preview.webp"],
  ])("of %s is %s", (path, preview) => {
    expect(defaultPreviewPath(outputTarget(path))).toBe(preview);
  });
});
