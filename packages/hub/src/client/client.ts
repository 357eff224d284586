import { isVdError, VdError } from "@vd/kernels-native";
import { fullName, type RequestSubject, TransientFailure } from "./failures";
import { type HubRequest, withAnswer, withRetries } from "./http";
import { checkFileName, isCommitHash } from "./names";
import type { HubSettings } from "./settings";

/** A file of a repository, as the server describes it. */
export interface RemoteFile {
  name: string;
  sizeBytes: number;
  /** Name of the blob in the cache and checksum in one: SHA-256 for large files, git's SHA-1 for small ones. */
  digest: string;
}

/** True for a SHA-256 or SHA-1 in lower-case hexadecimal digits. */
function isDigest(text: unknown): text is string {
  return typeof text === "string" && /^(?:[0-9a-f]{40}|[0-9a-f]{64})$/.test(text);
}

/**
 * The commit that a branch or tag points to.
 *
 * @throws VdError `io` for a wrong name or missing rights and {@link TransientFailure} if the Hub cannot be reached
 *   after `maxAttempts`
 */
export async function fetchCommit(settings: HubSettings, repo: string, revision: string): Promise<string> {
  const { modelInfo } = await import("@huggingface/hub");
  const info = await readingApi(repo, () =>
    modelInfo({
      name: repo,
      revision,
      hubUrl: settings.endpoint,
      additionalFields: ["sha"],
      fetch: apiFetch(settings, { repo, revision }),
    }),
  );
  if (typeof info.sha === "string" && isCommitHash(info.sha)) return info.sha;
  throw unexpectedAnswer(repo, "the commit as 40 hexadecimal digits", String(info.sha));
}

/**
 * The files of a commit; entries without a checksum get theirs from a request of their own when they are needed, see
 * {@link describeFile}.
 *
 * @throws like {@link fetchCommit}, and VdError `io` for unsafe names
 */
export async function fetchFileList(settings: HubSettings, repo: string, commit: string): Promise<ListedFile[]> {
  const { listFiles } = await import("@huggingface/hub");
  return readingApi(repo, async () => {
    const files: ListedFile[] = [];
    const entries = listFiles({
      repo: { type: "model", name: repo },
      recursive: true,
      revision: commit,
      hubUrl: settings.endpoint,
      fetch: apiFetch(settings, { repo, revision: commit }),
    });
    for await (const { type, path, size, oid, lfs } of entries) {
      if (type === "file" && checkFileName(path, repo)) {
        files.push({ name: path, sizeBytes: lfs?.size ?? size, digest: lfs?.oid ?? oid });
      }
    }
    return files;
  });
}

/** An entry of the file list; nothing but the name has been checked. */
export interface ListedFile {
  name: string;
  sizeBytes: unknown;
  digest: unknown;
}

/** Address of a file's content at a commit. */
export function fileUrl(settings: HubSettings, repo: string, commit: string, name: string): string {
  return `${settings.endpoint}/${repo}/resolve/${commit}/${name.split("/").map(encodeURIComponent).join("/")}`;
}

/** Size and checksum of a file: from the list, else from the headers of the file itself (X-Linked-Etag, ETag). */
export async function describeFile(
  settings: HubSettings,
  repo: string,
  commit: string,
  listed: ListedFile,
): Promise<RemoteFile> {
  const { name } = listed;
  if (isDigest(listed.digest) && isSize(listed.sizeBytes)) {
    return { name, sizeBytes: listed.sizeBytes, digest: listed.digest };
  }
  const request: HubRequest = {
    url: fileUrl(settings, repo, commit, name),
    subject: { repo, revision: commit, file: name },
    method: "HEAD",
    stayOnOrigin: true,
  };
  const headers = await withRetries(settings, fullName(request.subject), () =>
    withAnswer(settings, request, async ({ response }) => response.headers),
  );
  const etag = (headers.get("x-linked-etag") ?? headers.get("etag"))?.replace(/^W\//, "").replace(/^"|"$/g, "");
  const sizeBytes = Number(headers.get("x-linked-size") ?? headers.get("content-length") ?? Number.NaN);
  if (isDigest(etag) && isSize(sizeBytes)) return { name, sizeBytes, digest: etag };
  throw unexpectedAnswer(`${repo}/${name}`, "a size and a checksum", `size ${sizeBytes}, ETag ${etag ?? "none"}`);
}

function isSize(value: unknown): value is number {
  return Number.isSafeInteger(value) && (value as number) >= 0;
}

/** A `fetch` for `@huggingface/hub` that adds the token, cancel, retries and this client's errors. */
function apiFetch(settings: HubSettings, subject: RequestSubject): typeof fetch {
  return async (input, init) => {
    const request: HubRequest = {
      url: input instanceof Request ? input.url : String(input),
      subject,
      headers: Object.fromEntries(new Headers(init?.headers)),
    };
    const { text, headers } = await withRetries(settings, subject.repo, () =>
      withAnswer(settings, request, async ({ response, chunks }) => {
        const parts: Uint8Array[] = [];
        for await (const part of chunks()) parts.push(part);
        return { text: Buffer.concat(parts).toString("utf8"), headers: response.headers };
      }),
    );
    return new Response(text, { headers });
  };
}

/** Runs a call of `@huggingface/hub`; whatever it throws by itself is about an answer it cannot read. */
async function readingApi<T>(repo: string, call: () => Promise<T>): Promise<T> {
  try {
    return await call();
  } catch (error) {
    if (isVdError(error) || error instanceof TransientFailure) throw error;
    throw unexpectedAnswer(repo, "the Hub's JSON", error instanceof Error ? error.message : String(error), error);
  }
}

function unexpectedAnswer(where: string, expected: string, got: string, cause?: unknown): VdError {
  return new VdError({
    code: "io",
    where,
    expected: `${expected} from the Hub`,
    got,
    hint: "Check that HF_ENDPOINT is the address of a Hub.",
    cause,
  });
}
