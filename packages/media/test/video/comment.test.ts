import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { failureOf } from "../../../../tooling/testing/failure";
import { temporaryFolder } from "../../../../tooling/testing/temporary-folder";
import { encodePng, encodeVideo, type FileFormat, readAnimation, readComment } from "../../src/index";
import { gradientVideo } from "../support/video";

const video = gradientVideo(32, 16, 3);
/** Longer than a block of a GIF. */
const comment = JSON.stringify({ seed: "42", image: 'a \\ " b.png', list: Array.from({ length: 99 }, (_, i) => i) });

function fileOf(bytes: Uint8Array, name: string): string {
  const path = join(temporaryFolder(), name);
  writeFileSync(path, bytes);
  return path;
}

describe("a comment", () => {
  it.each<FileFormat>(["mp4", "webm", "gif", "webp"])("comes back out of .%s", async (format) => {
    const bytes = await encodeVideo(format, video, { comment });
    expect(await readComment(fileOf(bytes, `a.${format}`))).toBe(comment);
    // The same frames and comment give the same file.
    expect(Buffer.compare(bytes, await encodeVideo(format, video, { comment }))).toBe(0);
    expect(await readComment(fileOf(await encodeVideo(format, video), `b.${format}`))).toBeUndefined();
  });

  it("comes back out of a PNG frame", async () => {
    const bytes = await encodePng(video, video.frame(0), { comment });
    expect(await readComment(fileOf(bytes, "a.png"))).toBe(comment);
  });

  it("leaves a GIF's frames as they are", async () => {
    const frames = async (path: string) => {
      const read: Uint8Array[] = [];
      for await (const { data } of readAnimation(path)) read.push(data);
      return read;
    };
    const [with_, without] = [await encodeVideo("gif", video, { comment }), await encodeVideo("gif", video)];
    expect(await frames(fileOf(with_, "a.gif"))).toEqual(await frames(fileOf(without, "b.gif")));
  });

  it("is refused in letters that files do not keep alike", async () => {
    expect(await failureOf(encodeVideo("gif", video, { comment: "ä" }))).toMatchObject({
      code: "attr",
      where: "comment",
    });
  });

  it("is not found in other files, nor in damaged ones", async () => {
    for (const text of [
      "",
      "GIF8",
      "vd-comment",
      "vd-comment:9:short",
      "vd-comment:99999999:x",
      "vd-comment:3:a\u0001b",
    ])
      expect(await readComment(fileOf(Buffer.from(text), "x"))).toBeUndefined();
    expect(await failureOf(readComment("/no/such.mp4"))).toMatchObject({ code: "io" });
  });
});
