import { readdir } from "node:fs/promises";
import { join } from "node:path";
import { VdError } from "@vd/kernels-native";
import { fileSize, type RepoCache, readRef, snapshotDir } from "./cache-layout";
import { type FileSelection, selectModelFiles } from "./file-selection";
import { isCommitHash } from "./names";
import type { WeightFormat } from "./settings";

/** A model in the cache, complete or not. */
export interface CachedSnapshot extends Pick<FileSelection, "missing" | "exact"> {
  dir: string;
  commit: string;
}

/**
 * Finds a revision in the cache without any network: a full commit hash by itself, a branch or tag by `refs/<revision>`.
 * Undefined if the cache has nothing of it.
 */
export async function findCachedSnapshot(
  cache: RepoCache,
  revision: string,
  dtype: WeightFormat,
): Promise<CachedSnapshot | undefined> {
  const commit = isCommitHash(revision) ? revision : await readRef(cache, revision);
  if (commit === undefined || !isCommitHash(commit)) return undefined;
  const dir = snapshotDir(cache, commit);
  const names = await filesOfSnapshot(dir);
  if (names.length === 0) return undefined;
  const { missing, exact } = selectModelFiles(names, dtype);
  return { dir, commit, missing, exact };
}

/** The error for offline mode and a model that the cache does not have, or not in full. */
export function notCachedError(
  repo: string,
  revision: string,
  cache: RepoCache,
  found: CachedSnapshot | undefined,
): VdError {
  return new VdError({
    code: "io",
    where: `${repo}@${revision}`,
    expected: `a complete copy in ${cache.dir}, as offline mode is on`,
    got: found === undefined ? "none" : `one without ${found.missing.join(", ")}`,
    hint: "Unset HF_HUB_OFFLINE (or the option `offline`) and run it once with a network connection to download it.",
  });
}

/** Names of the files in a folder and in its direct subfolders; links to nothing are left out. */
export async function filesOfSnapshot(dir: string): Promise<string[]> {
  const names: string[] = [];
  for (const entry of await entriesOf(dir)) {
    const below = entry.isDirectory() ? await entriesOf(join(dir, entry.name)) : [];
    names.push(entry.name, ...below.map((inner) => `${entry.name}/${inner.name}`));
  }
  const sizes = await Promise.all(names.map((name) => fileSize(join(dir, name))));
  return names.filter((_, i) => sizes[i] !== undefined);
}

async function entriesOf(dir: string) {
  try {
    return await readdir(dir, { withFileTypes: true });
  } catch {
    return [];
  }
}
