import { randomUUID } from "node:crypto";
import { copyFile, link, lstat, readFile, rename, rm, stat, symlink, writeFile } from "node:fs/promises";
import { dirname, join, relative } from "node:path";
import { makeFolder } from "@vd/tensor";

/** How a snapshot refers to its blobs: by symbolic links, or where those are not permitted by hard links or copies. */
export type LinkKind = "symlink" | "hardlink" | "copy";

/** Paths of one model in the cache that is shared with the Python tools. */
export interface RepoCache {
  cacheDir: string;
  /** `models--org--name` */
  folder: string;
  /** `<cacheDir>/models--org--name` */
  dir: string;
}

/** The cache of `org/name` under a cache folder. Source: huggingface/huggingface_hub src/huggingface_hub/file_download.py. */
export function repoCache(cacheDir: string, repo: string): RepoCache {
  const folder = `models--${repo.replaceAll("/", "--")}`;
  return { cacheDir, folder, dir: join(cacheDir, folder) };
}

/** Path of a content: `blobs/<digest>`. */
export function blobPath(cache: RepoCache, digest: string): string {
  return join(cache.dir, "blobs", digest);
}

/** Path of a commit's folder: `snapshots/<commit>`. */
export function snapshotDir(cache: RepoCache, commit: string): string {
  return join(cache.dir, "snapshots", commit);
}

/**
 * Path of the lock of a blob. The Python tools lock `<digest>.lock` by `flock`, which Node.js does not have, so this is
 * another file: two Node.js processes keep out of each other's way.
 */
export function lockPath(cache: RepoCache, digest: string): string {
  return join(cache.cacheDir, ".locks", cache.folder, `${digest}.lock.json`);
}

/** The commit that a branch or tag had when it was last downloaded. */
export async function readRef(cache: RepoCache, revision: string): Promise<string | undefined> {
  try {
    return (await readFile(join(cache.dir, "refs", ...revision.split("/")), "utf8")).trim();
  } catch {
    return undefined;
  }
}

/** Notes the commit of a branch or tag. Does nothing if it is noted already, as a read-only cache would not permit it. */
export async function writeRef(cache: RepoCache, revision: string, commit: string): Promise<void> {
  if (revision === commit || (await readRef(cache, revision)) === commit) return;
  const path = join(cache.dir, "refs", ...revision.split("/"));
  await makeFolder(dirname(path));
  await replaceFile(path, (temporary) => writeFile(temporary, commit));
}

/** Size of a file (links followed), or undefined if there is none. */
export async function fileSize(path: string): Promise<number | undefined> {
  try {
    const found = await stat(path);
    return found.isFile() ? found.size : undefined;
  } catch {
    return undefined;
  }
}

/** Makes the folders of a model, marks the cache as one that backups may skip, and finds out which links it permits. */
export async function prepareCache(cache: RepoCache, allowSymlinks: boolean): Promise<LinkKind> {
  await makeFolder(join(cache.dir, "blobs"));
  await writeFile(join(cache.cacheDir, "CACHEDIR.TAG"), CACHEDIR_TAG, { flag: "wx" }).catch(() => {});
  const probe = join(cache.dir, `probe-${randomUUID()}`);
  try {
    await writeFile(`${probe}.target`, "");
    if (allowSymlinks && (await succeeds(symlink(`${probe}.target`, probe, "file")))) return "symlink";
    return (await succeeds(link(`${probe}.target`, probe))) ? "hardlink" : "copy";
  } finally {
    await rm(probe, { force: true });
    await rm(`${probe}.target`, { force: true });
  }
}

/** Puts a blob into a snapshot under its name. A right entry stays as it is; a stale one is replaced in one step. */
export async function linkIntoSnapshot(
  cache: RepoCache,
  commit: string,
  name: string,
  file: { digest: string; sizeBytes: number; kind: LinkKind },
): Promise<void> {
  const blob = blobPath(cache, file.digest);
  const pointer = join(snapshotDir(cache, commit), ...name.split("/"));
  if ((await fileSize(pointer)) === file.sizeBytes) return;
  await makeFolder(dirname(pointer));
  await replaceFile(pointer, (temporary) => {
    if (file.kind === "symlink") return symlink(relative(dirname(pointer), blob), temporary, "file");
    return file.kind === "hardlink" ? link(blob, temporary) : copyFile(blob, temporary);
  });
}

const CACHEDIR_TAG = "Signature: 8a477f597d28d172789f06886806bc55\n# This folder is a cache of downloaded models.\n";

/** Makes a file under a temporary name in the same folder and moves it into place. */
async function replaceFile(path: string, make: (temporary: string) => Promise<void>): Promise<void> {
  const temporary = `${path}.${randomUUID().slice(0, 8)}.tmp`;
  try {
    await make(temporary);
    await rename(temporary, path);
    // Renaming one name of a file onto another name of the same file does nothing: the temporary name remains.
    if (await succeeds(lstat(temporary))) await rm(temporary, { force: true });
  } catch (error) {
    await rm(temporary, { force: true });
    throw error;
  }
}

async function succeeds(promise: Promise<unknown>): Promise<boolean> {
  return promise.then(
    () => true,
    () => false,
  );
}
