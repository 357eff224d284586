import { VdError } from "@vd/kernels-native";
import { fullName } from "./failures";
import { type HubRequest, withAnswer, withRetries } from "./http";
import { checkFileName, isCommitHash, isSafeRelativePath } from "./names";
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

/** What a model is given away under. */
export interface ModelLicence {
  /** As its card says: `apache-2.0`, `stable-video-diffusion-community`. */
  name: string;
  /** Address of the licence's text, or of the model's page where the card names none. */
  url: string;
}

/** What the Hub says of a model at a revision. */
export interface ModelInfo {
  commit: string;
  /** Undefined where the model's card names none. */
  licence: ModelLicence | undefined;
}

/**
 * What the Hub says of a model at a branch, tag or commit.
 *
 * @throws VdError `io` for a wrong name or missing rights and {@link TransientFailure} if the Hub cannot be reached
 *   after `maxAttempts`
 */
export async function fetchModelInfo(settings: HubSettings, repo: string, revision: string): Promise<ModelInfo> {
  const url = `${settings.endpoint}/api/models/${repo}/revision/${encodeURIComponent(revision)}?expand=sha&expand=cardData`;
  const { json } = await requestJson(settings, { url, subject: { repo, revision } }, { isFirst: true });
  const { sha, cardData } = Object(json) as { sha?: unknown; cardData?: unknown };
  if (typeof sha !== "string" || !isCommitHash(sha))
    throw unexpectedAnswer(repo, "the commit as 40 hexadecimal digits", String(sha));
  return { commit: sha, licence: licenceOf(Object(cardData), `${settings.endpoint}/${repo}`, sha) };
}

/** Reads the licence of a model's card. page: the model's. */
function licenceOf(card: Record<string, unknown>, page: string, commit: string): ModelLicence | undefined {
  const text = (value: unknown) => (typeof value === "string" && value !== "" ? value : undefined);
  const name = text(card.license_name) ?? text(Array.isArray(card.license) ? card.license[0] : card.license);
  if (name === undefined) return undefined;
  const link = text(card.license_link);
  if (link === undefined) return { name, url: page };
  if (/^https?:\/\//.test(link)) return { name, url: link };
  return { name, url: isSafeRelativePath(link) ? `${page}/blob/${commit}/${link}` : page };
}

/**
 * The files of a commit; entries without a checksum get theirs from a request of their own when they are needed, see
 * {@link describeFile}.
 *
 * @throws like {@link fetchModelInfo}, and VdError `io` for unsafe names
 */
export async function fetchFileList(settings: HubSettings, repo: string, commit: string): Promise<ListedFile[]> {
  const subject = { repo, revision: commit };
  const files: ListedFile[] = [];
  let url: string | undefined = `${settings.endpoint}/api/models/${repo}/tree/${commit}?recursive=true`;
  while (url !== undefined) {
    const { json, headers }: JsonAnswer = await requestJson(settings, { url, subject });
    if (!Array.isArray(json)) throw unexpectedAnswer(repo, "a list of files", typeof json);
    files.push(...json.map(Object).flatMap((entry) => listedFile(entry, repo)));
    url = nextPage(headers);
  }
  return files;
}

function listedFile({ type, path, size, oid, lfs }: Record<string, unknown>, repo: string): ListedFile[] {
  if (type !== "file" || !checkFileName(path, repo)) return [];
  const large = Object(lfs) as { oid?: unknown; size?: unknown };
  return [{ name: path, sizeBytes: large.size ?? size, digest: large.oid ?? oid }];
}

/** The address of a list's next page. Source: RFC 8288 §3. */
const nextPage = (headers: Headers) => /<(https?:\/\/[^>]+)>;\s*rel="?next"?/.exec(headers.get("link") ?? "")?.[1];

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

interface JsonAnswer {
  json: unknown;
  headers: Headers;
}

/** Asks for JSON, again where that may help. `isFirst`: see {@link withRetries}. */
async function requestJson(
  settings: HubSettings,
  request: HubRequest,
  { isFirst = false }: { isFirst?: boolean } = {},
): Promise<JsonAnswer> {
  const { repo } = request.subject;
  const read = async () =>
    withAnswer(settings, request, async ({ response, chunks }) => {
      const parts: Uint8Array[] = [];
      for await (const part of chunks()) parts.push(part);
      return { text: Buffer.concat(parts).toString("utf8"), headers: response.headers };
    });
  const { text, headers } = await withRetries(settings, repo, read, { isFirst });
  try {
    return { json: JSON.parse(text), headers };
  } catch (cause) {
    throw unexpectedAnswer(repo, "the Hub's JSON", (cause as Error).message, cause);
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
