import { randomUUID } from "node:crypto";
import { lstat, readdir, rename, rm } from "node:fs/promises";
import { join } from "node:path";
import { requireOptions, VdError } from "@vd/kernels-native";
import { type RepoCache, repoCache } from "./cache-layout";
import { selectModelFiles } from "./file-selection";
import { filesOfSnapshot } from "./local-snapshot";
import { parseHubModelName } from "./names";
import { type HubOptions, hubSettings } from "./settings";

/** A model in the cache. */
export interface CachedModel {
  /** `org/name` */
  repo: string;
  dir: string;
  /** On the disk, with what broken downloads left. */
  bytes: number;
  /** True if a whole Stable Video Diffusion model is there, in any number format. */
  isComplete: boolean;
  /** When a file of it was last written. */
  changedAt: Date;
}

/** Where the cache is; what is left out comes from the environment. */
export type CacheOptions = Pick<HubOptions, "cacheDir" | "endpoint" | "environment">;

const MODEL_FOLDER = /^models--(.+?)--(.+)$/;

/**
 * Returns the models of the cache by name, also those that other programs have put there.
 *
 * @throws VdError `attr` for options that are none, `io` for a cache that cannot be read
 * @example
 * ```ts
 * import { listCachedModels } from "@vd/hub";
 *
 * for (const { repo, bytes, isComplete } of await listCachedModels()) console.log(repo, bytes, isComplete);
 * ```
 */
export async function listCachedModels(options: CacheOptions = {}): Promise<CachedModel[]> {
  requireOptions("listCachedModels", options);
  const { cacheDir } = await hubSettings({ ...options, token: false });
  const entries = await readdir(cacheDir, { withFileTypes: true }).catch((error: NodeJS.ErrnoException) => {
    if (error.code === "ENOENT") return [];
    const hint = "Check the folder's rights, or set HF_HUB_CACHE to another folder.";
    const expected = "a cache folder that can be read";
    throw new VdError({ code: "io", where: cacheDir, expected, got: error.code ?? error.message, hint, cause: error });
  });
  const repos = entries.flatMap((entry) => {
    const [, org, model] = MODEL_FOLDER.exec(entry.name) ?? [];
    return org === undefined || !entry.isDirectory() ? [] : [`${org}/${model}`];
  });
  return Promise.all(repos.sort().map((repo) => describeModel(repoCache(cacheDir, repo), repo)));
}

/**
 * Deletes a model from the cache and returns what it was. A download of it that is under way fails.
 *
 * @throws VdError `attr` for a text that names no model, `io` for one that the cache does not have or that cannot be
 *   deleted
 */
export async function removeCachedModel(name: string, options: CacheOptions = {}): Promise<CachedModel> {
  const found = await findCachedModel(name, options);
  const { cacheDir } = await hubSettings({ ...options, token: false });
  const cache = repoCache(cacheDir, found.repo);
  // By renaming it is gone at once: nobody finds half a model.
  const doomed = join(cacheDir, `.${cache.folder}.${randomUUID().slice(0, 8)}.tmp`);
  try {
    await rename(cache.dir, doomed);
    await rm(doomed, { recursive: true, force: true });
    await rm(join(cacheDir, ".locks", cache.folder), { recursive: true, force: true });
  } catch (cause) {
    const got = (cause as NodeJS.ErrnoException).code ?? String(cause);
    const hint = "Check the folder's rights, and that no program uses the model.";
    throw new VdError({ code: "io", where: cache.dir, expected: "a folder that can be deleted", got, hint, cause });
  }
  return found;
}

/**
 * Returns the model of the cache that a name means.
 *
 * @throws VdError `attr` for a text that names no model, `io` for one that the cache does not have
 */
export async function findCachedModel(name: string, options: CacheOptions = {}): Promise<CachedModel> {
  requireOptions("findCachedModel", options);
  const { endpoint, cacheDir } = await hubSettings({ ...options, token: false });
  const parsed = parseHubModelName(name, endpoint);
  if (parsed === undefined || parsed.revision !== undefined) {
    const expected = "a model as org/name";
    throw new VdError({ code: "attr", where: "model", expected, got: `"${name}"` });
  }
  const found = (await listCachedModels(options)).find(({ repo }) => repo === parsed.repo);
  if (found) return found;
  throw new VdError({
    code: "io",
    where: parsed.repo,
    expected: `a model of the cache ${cacheDir}`,
    got: "no such folder",
  });
}

async function describeModel(cache: RepoCache, repo: string): Promise<CachedModel> {
  const snapshots = await readdir(join(cache.dir, "snapshots")).catch(() => []);
  const contents = await Promise.all(snapshots.map((commit) => filesOfSnapshot(join(cache.dir, "snapshots", commit))));
  const isComplete = contents.some((names) => selectModelFiles(names, "fp32").missing.length === 0);
  return { repo, dir: cache.dir, isComplete, ...(await sizeOf(cache.dir)) };
}

/** Bytes of the real files below a folder; links count nothing, what they point to lies below it too. */
async function sizeOf(dir: string): Promise<{ bytes: number; changedAt: Date }> {
  let [bytes, changedMs] = [0, 0];
  const seen = new Set<number>();
  for (const entry of await readdir(dir, { recursive: true, withFileTypes: true }).catch(() => [])) {
    if (!entry.isFile()) continue;
    // A download that ends meanwhile renames its file.
    const found = await lstat(join(entry.parentPath, entry.name)).catch(() => undefined);
    if (found === undefined || (found.nlink > 1 && seen.has(found.ino))) continue;
    seen.add(found.ino);
    bytes += found.size;
    changedMs = Math.max(changedMs, found.mtimeMs);
  }
  return { bytes, changedAt: new Date(changedMs) };
}
