import { mkdtemp, readdir, readFile, readlink, rm, stat, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { afterEach, beforeEach, expect, it } from "vitest";
import { COMMIT, NEXT_COMMIT } from "../../../../tooling/testing/fake-hub";
import {
  blobPath,
  linkIntoSnapshot,
  prepareCache,
  readRef,
  repoCache,
  snapshotDir,
  writeRef,
} from "../../src/client/cache-layout";

let dir: string;
beforeEach(async () => {
  dir = await mkdtemp(join(tmpdir(), "vd-layout-"));
});
afterEach(() => rm(dir, { recursive: true, force: true }));

it.each(["symlink", "hardlink", "copy"] as const)("puts a blob into a snapshot by %s, once or twice", async (kind) => {
  const cache = repoCache(dir, "org/name");
  await prepareCache(cache, true);
  await writeFile(blobPath(cache, "abc"), "content");
  const file = { digest: "abc", sizeBytes: 7, kind };
  const pointer = join(snapshotDir(cache, COMMIT), "unet", "config.json");
  await linkIntoSnapshot(cache, COMMIT, "unet/config.json", file);
  await linkIntoSnapshot(cache, COMMIT, "unet/config.json", file);
  expect(await readFile(pointer, "utf8")).toBe("content");
  expect(await readdir(dirname(pointer))).toEqual(["config.json"]);
  const sameFile = (await stat(pointer)).ino === (await stat(blobPath(cache, "abc"))).ino;
  expect(sameFile).toBe(kind !== "copy");
  if (kind === "symlink") expect(await readlink(pointer)).toBe("../../../blobs/abc");
});

it("replaces an entry that is not the blob, also in several calls at once", async () => {
  const cache = repoCache(dir, "org/name");
  await prepareCache(cache, true);
  await writeFile(blobPath(cache, "abc"), "content");
  const file = { digest: "abc", sizeBytes: 7, kind: "symlink" as const };
  await linkIntoSnapshot(cache, COMMIT, "a.json", file);
  await writeFile(blobPath(cache, "abc"), "cut");
  await writeFile(blobPath(cache, "def"), "content");
  const calls = Array.from({ length: 5 }, () => linkIntoSnapshot(cache, COMMIT, "a.json", { ...file, digest: "def" }));
  await Promise.all(calls);
  expect(await readlink(join(snapshotDir(cache, COMMIT), "a.json"))).toBe("../../blobs/def");
  expect(await readdir(snapshotDir(cache, COMMIT))).toEqual(["a.json"]);
});

it("finds out which links the disk permits and leaves nothing behind", async () => {
  const cache = repoCache(dir, "org/name");
  expect(await prepareCache(cache, true)).toBe("symlink");
  expect(await prepareCache(cache, false)).toBe("hardlink");
  expect((await readdir(cache.dir)).sort()).toEqual(["blobs"]);
});

it("notes the commit of a branch, but not a commit of itself", async () => {
  const cache = repoCache(dir, "org/name");
  expect(await readRef(cache, "main")).toBeUndefined();
  await writeRef(cache, "main", COMMIT);
  await writeRef(cache, "main", NEXT_COMMIT);
  await writeRef(cache, COMMIT, COMMIT);
  expect(await readRef(cache, "main")).toBe(NEXT_COMMIT);
  expect(await readdir(join(cache.dir, "refs"))).toEqual(["main"]);
});
