import { isVdError, VdError } from "@vd/kernels-native";
import { cancelledError, delay, throwIfCancelled } from "./cancel";
import {
  fullName,
  isTransientStatus,
  type RequestSubject,
  statusError,
  TransientFailure,
  transientStatus,
} from "./failures";
import type { HubSettings } from "./settings";

/** One request to the Hub. */
export interface HubRequest {
  url: string;
  subject: RequestSubject;
  method?: "GET" | "HEAD" | "POST";
  headers?: Record<string, string>;
  body?: string;
  /** Statuses beside 2xx that `use` handles itself. */
  accept?: readonly number[];
  /** Stop at a redirect to another origin and hand that answer to `use`: its headers describe the file. */
  stayOnOrigin?: boolean;
}

/** An answer with a status that the request accepts. */
export interface HubAnswer {
  response: Response;
  /** Yields the body; a broken or silent connection becomes a {@link TransientFailure}. */
  chunks(): AsyncGenerator<Uint8Array>;
}

const MAX_REDIRECTS = 10;
/** No connection came about: no such name, nobody there, no way to get there. */
const UNREACHABLE_CODES =
  /^(?:ENOTFOUND|EAI_AGAIN|ECONNREFUSED|ENETUNREACH|EHOSTUNREACH|ENETDOWN|ETIMEDOUT|UND_ERR_CONNECT_TIMEOUT)$/;
const CERTIFICATE_CODES = /CERT|SIGNATURE|SELF_SIGNED|UNABLE_TO_(?:GET|VERIFY)/;

/**
 * Sends one request, follows redirects and hands the answer to `use`; the connection is given up afterwards. The token
 * goes to the endpoint's own origin only and not after a redirect has left it.
 *
 * @throws {@link TransientFailure} for what may pass, VdError `io` for what will not, VdError `cancelled` once the
 *   signal is set
 */
export async function withAnswer<T>(
  settings: HubSettings,
  request: HubRequest,
  use: (answer: HubAnswer) => Promise<T>,
): Promise<T> {
  const where = fullName(request.subject);
  throwIfCancelled(settings.signal, where);
  const connection = new Connection(settings, where);
  try {
    const response = await connection.guarded(() => followRedirects(settings, request, connection.signal));
    return await use({ response, chunks: () => connection.chunks(response) });
  } finally {
    connection.close();
  }
}

/** What a repeated request reports, and how patient it is. */
export interface RetryOptions {
  /** Grows as something arrives; progress starts the count of attempts anew. */
  progress?: () => number;
  /** Nothing has come from this server yet: if it cannot be reached, one more attempt follows, and none after a long
   *  wait. A machine without a network is told so at once. */
  isFirst?: boolean;
}

/** A failure to connect that took this long is not tried again by a first request. */
const QUICK_FAILURE_MS = 2_000;

/** Repeats `run` after each {@link TransientFailure}, with growing waits. */
export async function withRetries<T>(
  settings: HubSettings,
  where: string,
  run: () => Promise<T>,
  { progress = () => 0, isFirst = false }: RetryOptions = {},
): Promise<T> {
  let failures = 0;
  let best = progress();
  for (;;) {
    const startMs = performance.now();
    try {
      return await run();
    } catch (error) {
      if (!(error instanceof TransientFailure)) throw error;
      failures = progress() > best ? 1 : failures + 1;
      best = Math.max(best, progress());
      const isSlow = performance.now() - startMs > QUICK_FAILURE_MS;
      const isAway = isFirst && error.isUnreachable && (failures > 1 || isSlow);
      const waitsTooLong = (error.retryAfterMs ?? 0) > settings.maxRetryAfterMs;
      if (failures >= settings.maxAttempts || isAway || waitsTooLong) throw error;
      const backoffMs = Math.min(settings.baseDelayMs * 2 ** (failures - 1), settings.maxDelayMs);
      // Up to a quarter more, so that several downloads do not come back in the same moment.
      await delay(error.retryAfterMs ?? backoffMs * (1 + Math.random() / 4), settings.signal, where);
    }
  }
}

/** Sends requests until one is answered by something else than another address. */
async function followRedirects(settings: HubSettings, request: HubRequest, signal: AbortSignal): Promise<Response> {
  const home = new URL(settings.endpoint).origin;
  let url = new URL(request.url);
  let atHome = url.origin === home;
  for (let hops = 0; hops <= MAX_REDIRECTS; hops++) {
    const token = atHome ? settings.token : undefined;
    const response = await settings.fetch(url.href, {
      method: request.method ?? "GET",
      // Sizes and ranges are those of the file itself only without compression.
      headers: {
        "accept-encoding": "identity",
        "user-agent": `vd-hub; node/${process.versions.node}`,
        ...request.headers,
        ...(token === undefined ? {} : { authorization: `Bearer ${token}` }),
      },
      ...(request.body === undefined ? {} : { body: request.body }),
      redirect: "manual",
      signal,
    });
    const next = redirectTarget(response, url);
    const leaves = next !== undefined && next.origin !== url.origin;
    if (next === undefined || (leaves && request.stayOnOrigin)) {
      return checkStatus(response, request, {
        endpoint: settings.endpoint,
        sentToken: token !== undefined,
        trusted: url.origin === home,
      });
    }
    await response.body?.cancel();
    atHome &&= !leaves;
    url = next;
  }
  throw new VdError({
    code: "io",
    where: fullName(request.subject),
    expected: `at most ${MAX_REDIRECTS} redirects`,
    got: "more",
    hint: "Check HF_ENDPOINT.",
  });
}

function redirectTarget(response: Response, from: URL): URL | undefined {
  const location = response.headers.get("location");
  if (![301, 302, 303, 307, 308].includes(response.status) || location === null) return undefined;
  if (URL.canParse(location, from.href)) return new URL(location, from);
  throw new TransientFailure(`a redirect to "${location}", which is no address`);
}

function checkStatus(response: Response, request: HubRequest, server: Parameters<typeof statusError>[2]): Response {
  const redirected = request.stayOnOrigin === true && response.status >= 300 && response.status < 400;
  if (response.ok || redirected || request.accept?.includes(response.status)) return response;
  if (isTransientStatus(response.status)) throw transientStatus(response);
  throw statusError(response, request.subject, server);
}

/** Ends a request when the caller cancels or when nothing arrives for too long, and names failures after their cause. */
class Connection {
  readonly #abort = new AbortController();
  readonly #settings: HubSettings;
  readonly #where: string;
  readonly #onCancel = () => this.#abort.abort();
  #silent = false;

  constructor(settings: HubSettings, where: string) {
    this.#settings = settings;
    this.#where = where;
    settings.signal?.addEventListener("abort", this.#onCancel, { once: true });
  }

  get signal(): AbortSignal {
    return this.#abort.signal;
  }

  /** Awaits one answer or chunk, no longer than the idle time. */
  async guarded<T>(step: () => Promise<T>): Promise<T> {
    if (this.signal.aborted) throw this.#named(new Error("aborted"));
    const timer = setTimeout(() => {
      this.#silent = true;
      this.#abort.abort();
    }, this.#settings.idleTimeoutMs);
    let stopWaiting = () => {};
    // `fetch` may leave a read pending for ever if it is aborted between two chunks.
    const aborted = new Promise<never>((_, reject) => {
      stopWaiting = () => reject(new Error("aborted"));
      this.#abort.signal.addEventListener("abort", stopWaiting, { once: true });
    });
    try {
      return await Promise.race([step(), aborted]);
    } catch (error) {
      throw this.#named(error);
    } finally {
      clearTimeout(timer);
      this.#abort.signal.removeEventListener("abort", stopWaiting);
    }
  }

  async *chunks(response: Response): AsyncGenerator<Uint8Array> {
    const reader = response.body?.getReader();
    if (reader === undefined) return;
    for (;;) {
      const { done, value } = await this.guarded(() => reader.read());
      if (done) return;
      yield value;
    }
  }

  close(): void {
    this.#settings.signal?.removeEventListener("abort", this.#onCancel);
    this.#abort.abort();
  }

  #named(error: unknown): unknown {
    if (this.#settings.signal?.aborted) return cancelledError(this.#where, this.#settings.signal);
    if (this.#silent) {
      return new TransientFailure(`no data for ${this.#settings.idleTimeoutMs / 1000} s`, { cause: error });
    }
    if (isVdError(error) || error instanceof TransientFailure) return error;
    const { code, message } = rootCause(error);
    if (code !== undefined && CERTIFICATE_CODES.test(code)) {
      return new VdError({
        code: "io",
        where: this.#where,
        expected: "a server with a valid certificate",
        got: `${message} (${code})`,
        hint: "Behind a proxy with its own certificate, set NODE_EXTRA_CA_CERTS to that certificate's file.",
        cause: error,
      });
    }
    // Without a code it is the address itself that cannot be used, such as a port that is never asked.
    const isUnreachable = code === undefined || UNREACHABLE_CODES.test(code);
    return new TransientFailure(code === undefined ? message : `${message} (${code})`, { cause: error, isUnreachable });
  }
}

/** `fetch` says "fetch failed" and keeps the reason in `cause`. */
function rootCause(error: unknown): { code: string | undefined; message: string } {
  let current = error;
  while (current instanceof Error && current.cause instanceof Error) current = current.cause;
  if (!(current instanceof Error)) return { code: undefined, message: String(current) };
  // A connection tried over several addresses fails with one error for each and no message of its own.
  if (current instanceof AggregateError && current.errors[0] instanceof Error) current = current.errors[0];
  const { code, message } = current as Error & { code?: unknown };
  return { code: typeof code === "string" ? code : undefined, message };
}
