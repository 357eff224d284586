import { isVdError, VdError } from "@vd/kernels-native";
import { downloadBlob, incompletePath } from "./blob-download";
import {
  blobPath,
  fileSize,
  linkIntoSnapshot,
  prepareCache,
  type RepoCache,
  repoCache,
  snapshotDir,
  writeRef,
} from "./cache-layout";
import { cancelledError } from "./cancel";
import {
  describeFile,
  fetchFileList,
  fetchModelInfo,
  type ListedFile,
  type ModelInfo,
  type ModelLicence,
  type RemoteFile,
} from "./client";
import { checkDiskSpace, freeDiskBytes } from "./disk-space";
import { TransientFailure, unreachableError } from "./failures";
import { selectModelFiles } from "./file-selection";
import { findCachedSnapshot, notCachedError } from "./local-snapshot";
import { isCommitHash } from "./names";
import { forEachParallel } from "./parallel";
import { pickleHint } from "./pickles";
import { ProgressMeter } from "./progress";
import type { HubSettings } from "./settings";

/** A model's folder and the commit it is a copy of. */
export interface Snapshot {
  dir: string;
  commit: string;
}

/** Reads the free space of a disk; replaced in tests of a full disk. */
export type FreeBytes = (path: string) => Promise<number | undefined>;

/**
 * The folder with the files of an SVD model from the Hub; downloads what the cache lacks. A commit that the cache has
 * in full needs no network; a branch needs one request, and if the Hub is away the cached state of it is used.
 *
 * @throws VdError `io` (not found, refused, offline, checksum, disk), `weights` (no SVD model in there), `cancelled`
 */
export async function downloadSnapshot(
  settings: HubSettings,
  repo: string,
  revision: string,
  freeBytes: FreeBytes = freeDiskBytes,
): Promise<Snapshot> {
  const cache = repoCache(settings.cacheDir, repo);
  const cached = await findCachedSnapshot(cache, revision, settings.dtype);
  const usable = cached !== undefined && cached.missing.length === 0;
  if (settings.offline) {
    if (usable) return cached;
    throw notCachedError(repo, revision, cache, cached);
  }
  if (usable && cached.exact && isCommitHash(revision)) return cached;
  try {
    // With a copy at hand, waiting for a server that does not answer is not worth it.
    const patience = usable ? { ...settings, maxAttempts: 1 } : settings;
    const { commit, licence } = await modelInfo(patience, repo, revision);
    const dir = await completeSnapshot(settings, cache, { repo, commit, licence, freeBytes });
    await writeRef(cache, revision, commit).catch(noticeWriteFailure(settings, cache));
    return { dir, commit };
  } catch (error) {
    if (!(error instanceof TransientFailure)) throw asVdError(error, repo, cache);
    if (!usable) throw unreachableError(error, { repo, revision }, settings.endpoint);
    settings.onNotice(`${settings.endpoint} cannot be reached (${error.message}): using the copy in ${cached.dir}`);
    return cached;
  }
}

/** What the Hub says of a model; a commit that nobody wants to know the licence of is known already. */
async function modelInfo(settings: HubSettings, repo: string, revision: string): Promise<ModelInfo> {
  const isKnown = isCommitHash(revision) && settings.onBeforeDownload === undefined;
  return isKnown ? { commit: revision, licence: undefined } : fetchModelInfo(settings, repo, revision);
}

interface Wanted {
  repo: string;
  commit: string;
  licence: ModelLicence | undefined;
  freeBytes: FreeBytes;
}

/** Brings all selected files of a commit into its snapshot folder. */
async function completeSnapshot(settings: HubSettings, cache: RepoCache, wanted: Wanted): Promise<string> {
  const { repo, commit } = wanted;
  const dir = snapshotDir(cache, commit);
  const cached = await findCachedSnapshot(cache, commit, settings.dtype);
  if (cached?.exact && cached.missing.length === 0) return dir;
  const listed = selectListed(await fetchFileList(settings, repo, commit), settings, repo);
  const files: RemoteFile[] = [];
  for (const file of listed) files.push(await describeFile(settings, repo, commit, file));
  const absent = await filterAsync(files, async (file) => (await fileSize(`${dir}/${file.name}`)) !== file.sizeBytes);
  if (absent.length > 0) await fetchFiles(settings, cache, wanted, absent);
  return dir;
}

function selectListed(listed: readonly ListedFile[], settings: HubSettings, repo: string): ListedFile[] {
  const { files, missing } = selectModelFiles(
    listed.map(({ name }) => name),
    settings.dtype,
  );
  if (missing.length === 0) return listed.filter(({ name }) => files.includes(name));
  const single = listed.find(({ name }) => /^[^/]+\.safetensors$/.test(name));
  const pickles = pickleHint(listed.map(({ name }) => name).filter((name) => missing.includes(safetensorsOf(name))));
  throw new VdError({
    code: "weights",
    where: repo,
    expected: "a Stable Video Diffusion model as folders of safetensors files",
    got: `a repository without ${missing.join(", ")}`,
    hint:
      single === undefined
        ? (pickles ??
          "Choose a repository in the diffusers layout, e.g. stabilityai/stable-video-diffusion-img2vid-xt.")
        : `If ${single.name} is a single-file checkpoint, download that file and give its path.`,
  });
}

/** The name that a network's pickle has as safetensors: transformers' `pytorch_model` is `model` there. */
const safetensorsOf = (name: string): string =>
  name.replace(/\.[^./]+$/, ".safetensors").replace(/\/pytorch_model\./, "/model.");

async function fetchFiles(
  settings: HubSettings,
  cache: RepoCache,
  { repo, commit, licence, freeBytes }: Wanted,
  files: readonly RemoteFile[],
): Promise<void> {
  const missing = await filterAsync(
    files,
    async (file) => (await fileSize(blobPath(cache, file.digest))) !== file.sizeBytes,
  );
  const received = await Promise.all(missing.map((file) => fileSize(incompletePath(cache, file.digest))));
  const restBytes = (file: RemoteFile, i: number) => file.sizeBytes - Math.min(received[i] ?? 0, file.sizeBytes);
  const missingBytes = missing.reduce((sum, file, i) => sum + restBytes(file, i), 0);
  if (missing.length > 0) {
    const page = `${settings.endpoint}/${repo}`;
    await settings.onBeforeDownload?.({ repo, commit, page, licence, totalBytes: sumBytes(files), missingBytes });
  }
  const kind = await prepareCache(cache, settings.allowSymlinks);
  const neededBytes = missingBytes + (kind === "copy" ? sumBytes(files) : 0);
  await checkDiskSpace(cache.dir, neededBytes, repo, freeBytes);

  const meter = new ProgressMeter(settings.onProgress, settings.progressIntervalMs);
  for (const file of missing) meter.add(file.name, file.sizeBytes);
  const { stop, linked, dispose } = stoppable(settings, repo);
  const fetchOne = async (file: RemoteFile) => {
    const onBytes = (bytes: number) => meter.update(file.name, bytes);
    await downloadBlob({ settings: linked, cache, repo, commit, file, onBytes });
    await linkIntoSnapshot(cache, commit, file.name, { ...file, kind });
  };
  try {
    await forEachParallel(files, settings.maxParallel, fetchOne, stop);
  } finally {
    dispose();
  }
}

/** The same settings with a signal that also ends when one of several downloads has failed. */
function stoppable(settings: HubSettings, where: string) {
  const controller = new AbortController();
  const forward = () => controller.abort(settings.signal?.reason);
  if (settings.signal?.aborted) throw cancelledError(where, settings.signal);
  settings.signal?.addEventListener("abort", forward, { once: true });
  return {
    linked: { ...settings, signal: controller.signal },
    stop: () => controller.abort(),
    dispose: () => settings.signal?.removeEventListener("abort", forward),
  };
}

function noticeWriteFailure(settings: HubSettings, cache: RepoCache) {
  return (error: Error) => settings.onNotice(`The branch's state was not noted in ${cache.dir}: ${error.message}`);
}

/** File-system errors as sentences; everything else as it is. */
function asVdError(error: unknown, repo: string, cache: RepoCache): unknown {
  const { code, syscall, path, message } = error as NodeJS.ErrnoException;
  if (isVdError(error) || code === undefined || syscall === undefined) return error;
  return new VdError({
    code: "io",
    where: repo,
    expected: `a cache folder that can be written: ${cache.cacheDir}`,
    got: `${code} for ${path ?? message}`,
    hint: "Check the folder's rights, or set HF_HUB_CACHE to another folder.",
    cause: error,
  });
}

function sumBytes(files: readonly RemoteFile[]): number {
  return files.reduce((sum, file) => sum + file.sizeBytes, 0);
}

async function filterAsync<T>(items: readonly T[], test: (item: T) => Promise<boolean>): Promise<T[]> {
  const keep = await Promise.all(items.map(test));
  return items.filter((_, i) => keep[i]);
}
