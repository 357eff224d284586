import { rename, rm } from "node:fs/promises";
import { VdError } from "@vd/kernels-native";
import { BlobPart } from "./blob-part";
import { blobPath, fileSize, lockPath, type RepoCache } from "./cache-layout";
import { throwIfCancelled } from "./cancel";
import { fileUrl, type RemoteFile } from "./client";
import { diskFullError } from "./disk-space";
import { fullName, type RequestSubject, TransientFailure } from "./failures";
import { acquireLock } from "./file-lock";
import { type HubAnswer, withAnswer, withRetries } from "./http";
import type { HubSettings } from "./settings";

/** Where a blob comes from and goes to. */
export interface BlobJob {
  settings: HubSettings;
  cache: RepoCache;
  repo: string;
  commit: string;
  file: RemoteFile;
  /** Called with the bytes that are on the disk. */
  onBytes: (receivedBytes: number) => void;
}

/** Path of the part of a blob that has been received. */
export function incompletePath(cache: RepoCache, digest: string): string {
  return `${blobPath(cache, digest)}.incomplete`;
}

/**
 * Downloads one blob unless the cache has it. Continues what an earlier download left, whoever made it, checks the
 * content against its checksum and then moves it into place; a lock keeps other processes from the same blob.
 *
 * @throws VdError `io` (refused, checksum, disk full), VdError `cancelled`, {@link TransientFailure} after the last
 *   attempt
 */
export async function downloadBlob(job: BlobJob): Promise<void> {
  const { settings, cache, file } = job;
  if (await isComplete(job)) return;
  const lock = await acquireLock(lockPath(cache, file.digest), {
    pollMs: settings.lockPollMs,
    staleMs: settings.lockStaleMs,
    signal: settings.signal,
  });
  try {
    // Another process may have finished it while this one waited.
    if (await isComplete(job)) return;
    await receive(job);
    await lock.assertHeld();
    await rename(incompletePath(cache, file.digest), blobPath(cache, file.digest));
  } finally {
    await lock.release();
  }
}

async function isComplete({ cache, file, onBytes }: BlobJob): Promise<boolean> {
  const complete = (await fileSize(blobPath(cache, file.digest))) === file.sizeBytes;
  if (complete) onBytes(file.sizeBytes);
  return complete;
}

/** Fills the incomplete file until its checksum is right. */
async function receive(job: BlobJob): Promise<void> {
  const path = incompletePath(job.cache, job.file.digest);
  const part = await BlobPart.open(path, job.file);
  try {
    await part.takeExisting(() => throwIfCancelled(job.settings.signal, fullName(subjectOf(job))));
    await fill(job, part);
    // One piece of several may be damaged: then everything is fetched once more before this is an error.
    if (!part.isRight() && part.isPatched) {
      await part.restart();
      await fill(job, part);
    }
    if (!part.isRight()) throw checksumError(job, part);
    await part.flush();
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== "ENOSPC") throw error;
    throw diskFullError(fullName(subjectOf(job)), path, job.file.sizeBytes - part.receivedBytes, undefined, error);
  } finally {
    await part.close();
    if (part.isFull() && !part.isRight()) await rm(path, { force: true });
  }
}

async function fill(job: BlobJob, part: BlobPart): Promise<void> {
  const where = fullName(subjectOf(job));
  let best = part.receivedBytes;
  job.onBytes(part.receivedBytes);
  const attempt = async () => {
    while (!part.isFull()) await requestRest(job, part);
  };
  const progress = () => {
    best = Math.max(best, part.receivedBytes);
    return best;
  };
  await withRetries(job.settings, where, attempt, { progress });
}

/** Asks for what is missing. Starts anew where the server sends something else than that. */
async function requestRest(job: BlobJob, part: BlobPart): Promise<void> {
  const { settings, repo, commit, file, onBytes } = job;
  const from = part.receivedBytes;
  const headers: Record<string, string> = {};
  if (from > 0) {
    headers.range = `bytes=${from}-`;
    // An address holds one content for ever, yet a proxy in between may hold another one under the same address.
    if (part.entityTag !== undefined) headers["if-range"] = part.entityTag;
  }
  const request = { url: fileUrl(settings, repo, commit, file.name), subject: subjectOf(job), headers, accept: [416] };
  await withAnswer(settings, request, async (answer) => {
    const { response } = answer;
    if (from > 0 && !continuesAt(response, from, file.sizeBytes)) {
      await part.restart();
      onBytes(0);
      if (response.status !== 200) return;
    }
    if (response.status !== 200 && response.status !== 206) {
      throw new TransientFailure(`status ${response.status} for the whole file`);
    }
    part.entityTag = strongEntityTag(response.headers);
    part.isPatched ||= part.receivedBytes > 0;
    await append(answer, part, file, onBytes);
  });
}

async function append(
  { chunks }: HubAnswer,
  part: BlobPart,
  file: RemoteFile,
  onBytes: (receivedBytes: number) => void,
): Promise<void> {
  for await (const chunk of chunks()) {
    if (part.receivedBytes + chunk.byteLength > file.sizeBytes) {
      await part.restart();
      throw new TransientFailure(`more than the ${file.sizeBytes} bytes of the file`);
    }
    await part.append(chunk);
    onBytes(part.receivedBytes);
  }
  if (!part.isFull()) {
    throw new TransientFailure(`${part.receivedBytes} of ${file.sizeBytes} bytes, then the end of the connection`);
  }
}

/** True if the answer is the rest of this very file: status 206, uncompressed, from the byte asked for to the end. */
function continuesAt(response: Response, from: number, sizeBytes: number): boolean {
  if (response.status !== 206) return false;
  if ((response.headers.get("content-encoding") ?? "identity") !== "identity") return false;
  const range = /^bytes (\d+)-(\d+)\/(\d+|\*)$/.exec(response.headers.get("content-range") ?? "");
  const total = range?.[3] === "*" ? sizeBytes : Number(range?.[3]);
  return Number(range?.[1]) === from && Number(range?.[2]) < sizeBytes && total === sizeBytes;
}

/** If-Range takes strong tags only. */
function strongEntityTag(headers: Headers): string | undefined {
  const tag = headers.get("etag");
  return tag?.startsWith('"') ? tag : undefined;
}

function subjectOf({ repo, commit, file }: BlobJob): RequestSubject {
  return { repo, revision: commit, file: file.name };
}

function checksumError(job: BlobJob, part: BlobPart): VdError {
  const { digest } = job.file;
  return new VdError({
    code: "io",
    where: fullName(subjectOf(job)),
    expected: `content with ${digest.length === 64 ? "SHA-256" : "git SHA-1"} ${digest}`,
    got: part.hexDigest(),
    hint: "The damaged download was deleted. Run it again; if it happens again, a proxy or mirror changes the file.",
  });
}
