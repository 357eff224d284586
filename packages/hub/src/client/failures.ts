import { VdError } from "@vd/kernels-native";

/** What a request is about; for messages. */
export interface RequestSubject {
  repo: string;
  revision: string;
  file?: string | undefined;
}

/** The name of a subject in messages: the model, or the model and the file. */
export function fullName({ repo, file }: RequestSubject): string {
  return file === undefined ? repo : `${repo}/${file}`;
}

/** A failure that may pass: no connection, silence, a broken transfer, an overloaded server. Never reaches the user. */
export class TransientFailure extends Error {
  /** How long the server asks to wait, if it says so. */
  readonly retryAfterMs: number | undefined;
  /** No connection came about. */
  readonly isUnreachable: boolean;

  constructor(
    message: string,
    options: { retryAfterMs?: number | undefined; cause?: unknown; isUnreachable?: boolean } = {},
  ) {
    super(message, { cause: options.cause });
    this.retryAfterMs = options.retryAfterMs;
    this.isUnreachable = options.isUnreachable ?? false;
  }
}

/** The error that the user sees after the last attempt. */
export function unreachableError(failure: TransientFailure, subject: RequestSubject, endpoint: string): VdError {
  return new VdError({
    code: "io",
    where: fullName(subject),
    expected: `an answer from ${endpoint}`,
    got: failure.message,
    hint: "Check the network connection and HF_ENDPOINT, then run it again: what was received is kept.",
    cause: failure,
  });
}

/** True for answers that may be better next time. */
export function isTransientStatus(status: number): boolean {
  return status === 408 || status === 429 || status >= 500;
}

/** The failure for a status of {@link isTransientStatus}, with the wait that the server asks for. */
export function transientStatus(response: Response): TransientFailure {
  const retryAfterMs = requestedWaitMs(response.headers);
  const wait = retryAfterMs === undefined ? "" : ` with the request to wait ${Math.ceil(retryAfterMs / 1000)} s`;
  return new TransientFailure(`status ${response.status}${wait}`, { retryAfterMs });
}

/**
 * The wait a server asks for: Retry-After in seconds or as a date, else the reset time of a RateLimit header whose
 * remainder is 0. Undefined if it does not say. Source: RFC 9110 §10.2.3; draft-ietf-httpapi-ratelimit-headers-09.
 */
export function requestedWaitMs(headers: Headers, nowMs: number = Date.now()): number | undefined {
  const retryAfter = headers.get("retry-after")?.trim();
  if (retryAfter) {
    const waitMs = /^\d+(?:\.\d+)?$/.test(retryAfter) ? Number(retryAfter) * 1000 : Date.parse(retryAfter) - nowMs;
    if (Number.isFinite(waitMs)) return Math.max(0, waitMs);
  }
  const limit = /;\s*r\s*=\s*0\s*;\s*t\s*=\s*(\d+)/.exec(headers.get("ratelimit") ?? "");
  return limit?.[1] === undefined ? undefined : Number(limit[1]) * 1000;
}

/** The error for an answer that will not change by trying again. `trusted`: it came from the Hub, not from a CDN. */
export function statusError(
  response: { status: number; headers: Headers },
  subject: RequestSubject,
  server: { endpoint: string; sentToken: boolean; trusted: boolean },
): VdError {
  const { status } = response;
  const code = response.headers.get("x-error-code");
  if (server.trusted && code === "EntryNotFound") return missingFile(subject, status);
  if (server.trusted && code === "RevisionNotFound") return missingRevision(subject, status);
  if (server.trusted && (status === 401 || status === 403)) return deniedError(status, code, subject, server);
  if (server.trusted && status === 404) {
    if (code === "RepoNotFound" || subject.file === undefined) return missingRepo(subject, status, server.sentToken);
    return missingFile(subject, status);
  }
  const said = response.headers.get("x-error-message");
  return new VdError({
    code: "io",
    where: fullName(subject),
    expected: "the file or its description",
    got: `status ${status}${said ? ` (${said})` : ""}`,
    hint: `Check that ${server.endpoint}/${subject.repo} opens in a browser.`,
  });
}

function deniedError(
  status: number,
  code: string | null,
  subject: RequestSubject,
  { endpoint, sentToken }: { endpoint: string; sentToken: boolean },
): VdError {
  const page = `${endpoint}/${subject.repo}`;
  const gated = code === "GatedRepo";
  const wrongName = gated ? "" : " If there is no such page, the name is wrong.";
  const token = sentToken
    ? "check that the token in HF_TOKEN is valid and belongs to that account"
    : `set HF_TOKEN to a token from ${endpoint}/settings/tokens`;
  return new VdError({
    code: "io",
    where: fullName(subject),
    expected: sentToken ? "a token that may read this model" : "a model that anyone may read, or a token",
    got: `status ${status}${gated ? " (the model is gated)" : ""}`,
    hint: `Accept the licence at ${page} in a browser, then ${token}.${wrongName}`,
  });
}

function missingRepo(subject: RequestSubject, status: number, sentToken: boolean): VdError {
  return new VdError({
    code: "io",
    where: subject.repo,
    expected: "the name of a model on the Hub",
    got: `status ${status}: no model has this name`,
    hint: `Check the spelling.${sentToken ? "" : " If the model is private, set HF_TOKEN."}`,
  });
}

function missingRevision(subject: RequestSubject, status: number): VdError {
  return new VdError({
    code: "io",
    where: `${subject.repo}@${subject.revision}`,
    expected: "a branch, tag or commit of this model",
    got: `status ${status}: there is no "${subject.revision}"`,
    hint: `Leave out "@${subject.revision}" to get the main branch.`,
  });
}

function missingFile(subject: RequestSubject, status: number): VdError {
  return new VdError({
    code: "io",
    where: fullName(subject),
    expected: `a file of revision ${subject.revision}`,
    got: `status ${status}: there is no such file`,
    hint: "The model's file list names it, so the server may be out of step: try again later.",
  });
}
