import { spawnSync } from "node:child_process";
import { mkdirSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it, onTestFinished } from "vitest";
import { temporaryFolder } from "../../../../tooling/testing/temporary-folder";
import { discardAll, temporaryName } from "../../src/files/temporary";
import { checkPlace, placeFile, writeSynced } from "../../src/files/whole-file";

const place = { where: "--output", overwrite: true };
const bytes = new Uint8Array(1000).fill(7);

/** What the operating system says when a disk is full. */
function noSpace(): Error {
  return Object.assign(new Error("ENOSPC: no space left on device, write"), { code: "ENOSPC", syscall: "write" });
}

/** Mounts a file system of 64 KiB, where the system lets us; undefined elsewhere. */
function smallDisk(): string | undefined {
  const folder = temporaryFolder();
  const isMounted = spawnSync("mount", ["-t", "tmpfs", "-o", "size=64k", "tmpfs", folder]).status === 0;
  if (!isMounted) return undefined;
  onTestFinished(() => void spawnSync("umount", [folder]));
  return folder;
}

describe("placeFile", () => {
  it("puts the file in place and reports its size", async () => {
    const folder = temporaryFolder();
    const path = join(folder, "out.bin");
    writeFileSync(path, "old");
    expect(await placeFile(path, place, (temporary) => writeSynced(temporary, bytes))).toBe(1000);
    expect(readFileSync(path).equals(bytes)).toBe(true);
    expect(readdirSync(folder)).toEqual(["out.bin"]);
  });

  it("leaves the old file and nothing else when writing fails midway", async () => {
    const folder = temporaryFolder();
    const path = join(folder, "out.bin");
    writeFileSync(path, "old");
    const writing = placeFile(path, place, async (temporary) => {
      await writeSynced(temporary, bytes.subarray(0, 500));
      expect(readdirSync(folder)).toHaveLength(2);
      throw noSpace();
    });
    await expect(writing).rejects.toMatchObject({
      code: "io",
      message:
        `[--output] expected a file that can be written, got no space left on the device (${path}). ` +
        "Free some space or choose another folder.",
    });
    expect(readdirSync(folder)).toEqual(["out.bin"]);
    expect(readFileSync(path, "utf8")).toBe("old");
  });

  it("does not put a file in place after it was cancelled", async () => {
    const folder = temporaryFolder();
    const controller = new AbortController();
    const writing = placeFile(join(folder, "x"), { ...place, signal: controller.signal }, async (temporary) => {
      await writeSynced(temporary, bytes);
      controller.abort(new Error("enough"));
    });
    await expect(writing).rejects.toThrow("enough");
    expect(readdirSync(folder)).toEqual([]);
  });

  it("keeps a file that appeared meanwhile and must be kept", async () => {
    const folder = temporaryFolder();
    const path = join(folder, "x");
    const writing = placeFile(path, { ...place, overwrite: false }, async (temporary) => {
      await writeSynced(temporary, bytes);
      writeFileSync(path, "someone else's");
    });
    await expect(writing).rejects.toThrow("got an existing file");
    expect(readFileSync(path, "utf8")).toBe("someone else's");
  });

  it("explains a disk that is full (on a real one, where mounting is allowed)", async ({ skip }) => {
    const folder = smallDisk();
    if (folder === undefined) return skip("no permission to mount");
    const big = new Uint8Array(200_000);
    const writing = placeFile(join(folder, "x"), place, (temporary) => writeSynced(temporary, big));
    await expect(writing).rejects.toThrow("no space left on the device");
    expect(readdirSync(folder)).toEqual([]);
    writeFileSync(join(folder, "fill"), new Uint8Array(64 * 1024));
    await expect(checkPlace(join(folder, "x"), place)).rejects.toThrow("no space left on the device");
    expect(readdirSync(folder)).toEqual(["fill"]);
  });
});

describe("checkPlace", () => {
  it("is content with a free name and leaves nothing", async () => {
    const folder = temporaryFolder();
    await checkPlace(join(folder, "x"), { ...place, overwrite: false });
    expect(readdirSync(folder)).toEqual([]);
  });

  it("explains what is in the way", async () => {
    const folder = temporaryFolder();
    mkdirSync(join(folder, "d.mp4"));
    writeFileSync(join(folder, "f"), "");
    await expect(checkPlace(join(folder, "no", "x"), place)).rejects.toThrow(
      `[--output] expected a folder that exists, got none named ${join(folder, "no")}. Make it first: mkdir -p "${join(folder, "no")}"`,
    );
    await expect(checkPlace(join(folder, "f", "x"), place)).rejects.toThrow(`got a file (${join(folder, "f")})`);
    await expect(checkPlace(join(folder, "d.mp4"), place)).rejects.toThrow(
      "expected a file name, got the name of a folder",
    );
    await expect(checkPlace(join(folder, "f"), { ...place, overwrite: false })).rejects.toThrow(
      "expected a name that is free, got an existing file",
    );
  });

  it.skipIf(process.platform !== "linux")("explains a folder that takes no files", async () => {
    await expect(checkPlace("/proc/self/x.mp4", place)).rejects.toMatchObject({
      code: "io",
      message: expect.stringContaining("[--output] expected a folder that can be written to, got "),
    });
  });
});

describe("discardAll", () => {
  it("removes temporaries at once, folders too", () => {
    const folder = temporaryFolder();
    writeFileSync(temporaryName(join(folder, "a")), "half");
    mkdirSync(temporaryName(join(folder, "b")));
    expect(readdirSync(folder)).toHaveLength(2);
    discardAll();
    expect(readdirSync(folder)).toEqual([]);
  });
});
