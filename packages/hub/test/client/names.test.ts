import { join, relative } from "node:path";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { formatBytes, freeDiskBytes } from "../../src/client/disk-space";
import { isSafeRelativePath, parseHubModelName } from "../../src/client/names";

describe("isSafeRelativePath", () => {
  it.each(["a", "a/b.json", "unet/x-00001-of-00002.safetensors", "refs/pr/1", ".gitattributes", "a..b/c"])(
    "takes %j",
    (name) => expect(isSafeRelativePath(name)).toBe(true),
  );

  it.each(["", ".", "..", "../a", "a/../b", "/a", "a//b", "a/", "a\\b", "C:a", "a:stream", "a\0", "a.", "a ", ".. /x"])(
    "refuses %j",
    (name) => expect(isSafeRelativePath(name)).toBe(false),
  );

  it("never lets a name leave its folder", () => {
    const part = fc.constantFrom("..", ".", "", "a", "b c", "...", "..\\", "C:", "~", " ", "a.");
    fc.assert(
      fc.property(fc.array(part, { maxLength: 6 }), (parts) => {
        const name = parts.join("/");
        fc.pre(isSafeRelativePath(name));
        expect(relative("/base", join("/base", name)).startsWith("..")).toBe(false);
      }),
      { seed: 7, numRuns: 2000 },
    );
  });
});

describe("parseHubModelName", () => {
  it("splits name and revision", () => {
    expect(parseHubModelName("stabilityai/stable-video-diffusion-img2vid-xt")).toEqual({
      repo: "stabilityai/stable-video-diffusion-img2vid-xt",
      revision: undefined,
    });
    expect(parseHubModelName("Org_1/a.b@refs/pr/2")).toEqual({ repo: "Org_1/a.b", revision: "refs/pr/2" });
  });

  it.each([
    ["hf:org/name", "org/name", undefined],
    ["hf:org/name@v1", "org/name", "v1"],
    ["https://huggingface.co/org/name", "org/name", undefined],
    ["https://huggingface.co/org/name/", "org/name", undefined],
    ["https://hf.co/org/name?library=diffusers#files", "org/name", undefined],
    ["HTTPS://huggingface.co/org/name/tree/refs%2Fpr%2F1", "org/name", "refs/pr/1"],
    ["https://mirror.example/org/name/tree/main", "org/name", "main"],
  ])("reads %j", (text, repo, revision) => {
    expect(parseHubModelName(text, "https://mirror.example")).toEqual({ repo, revision });
  });

  it.each([
    "hf:",
    "hf:hf:a/b",
    "https://example.org/org/name",
    "https://huggingface.co/org",
    "https://huggingface.co/org/name/blob/main/x.safetensors",
    "https://huggingface.co/org/name/tree/..%2Fx",
    "https://huggingface.co/org/name/tree/%",
    "https://",
    "a",
    "a/b/c",
    "-a/b",
    "a/.b",
    "a/b-",
    "a-/b",
    "a/b.",
    "a--b/c",
    "a/b..c",
    "a/b@",
    "a/b@../c",
    "a b/c",
    "a/é",
  ])("refuses %j", (text) => expect(parseHubModelName(text)).toBeUndefined());
});

describe("disk space", () => {
  it("prints sizes as on disk labels", () => {
    const sizes = [0, 999, 1000, 1_500_000, 4_519_000_000, 2e12, 9e15];
    expect(sizes.map(formatBytes)).toEqual(["0 B", "999 B", "1.00 kB", "1.50 MB", "4.52 GB", "2.00 TB", "9000.00 TB"]);
  });

  it("asks the nearest folder that exists", async () => {
    const free = await freeDiskBytes(join(import.meta.dirname, "not", "made", "yet"));
    expect(free).toBeGreaterThan(0);
  });
});
