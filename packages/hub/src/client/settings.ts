import { resolve } from "node:path";
import { VdError } from "@vd/kernels-native";
import type { ModelLicence } from "./client";
import { type HubEnvironment, readHubEnvironment, readImplicitToken, type Variables } from "./environment";
import type { ProgressListener } from "./progress";

/** Number format asked for; decides which file of several with the same weights is downloaded. */
export type WeightFormat = "fp32" | "fp16" | "bf16";

/** A download that is about to begin. */
export interface PlannedDownload {
  /** `org/name` */
  repo: string;
  commit: string;
  /** Address of the model's page. */
  page: string;
  /** Undefined where the model's card names none. */
  licence: ModelLicence | undefined;
  /** Of all files of the model that are needed. */
  totalBytes: number;
  /** Of those that the cache does not have yet. */
  missingBytes: number;
}

/** What can be said about a Hub model beside its name. Whatever is left out comes from the environment. */
export interface HubOptions {
  /** Branch, tag or commit. Default: what follows `@` in the name, else `main`. */
  revision?: string | undefined;
  /** `fp16` takes `*.fp16.safetensors` where the repository has them. Default: `fp32`, the files without a variant. */
  dtype?: WeightFormat | undefined;
  /** Address of the Hub; default HF_ENDPOINT. */
  endpoint?: string | undefined;
  /** Access token; `false` sends none. Default: HF_TOKEN, else the token file. */
  token?: string | false | undefined;
  /** Folder that holds `models--org--name`; default HF_HUB_CACHE. */
  cacheDir?: string | undefined;
  /** Use cached files only. Default: HF_HUB_OFFLINE. */
  offline?: boolean | undefined;
  /** Files downloaded at the same time: 1..16, default 4. */
  maxParallel?: number | undefined;
  /** Cancels; what was received stays in `*.incomplete` files and the next call goes on from there. */
  signal?: AbortSignal | undefined;
  onProgress?: ProgressListener | undefined;
  /** Called before the first byte of a model is fetched, not for one that the cache has in full. What it throws ends the
   *  call and nothing is downloaded: the place to show the licence and to ask. */
  onBeforeDownload?: ((download: PlannedDownload) => void | Promise<void>) | undefined;
  /** Gets sentences about things that are not errors, e.g. that the Hub is away and the cached model is used. */
  onNotice?: ((message: string) => void) | undefined;
  /** Replaces the global `fetch`, e.g. by one that goes through a proxy. */
  fetch?: typeof fetch | undefined;
  /** Replaces `process.env`. */
  environment?: Variables | undefined;
  /** Waiting times and limits; the defaults suit the public Hub. */
  tuning?: Partial<HubTuning> | undefined;
}

/** Waiting times and limits of the Hub client. */
export interface HubTuning {
  /** Attempts without progress before giving up: 1 or more. */
  maxAttempts: number;
  /** Wait before the second attempt; doubles with each further one. */
  baseDelayMs: number;
  maxDelayMs: number;
  /** The longest wait that a server may ask for by Retry-After; a longer one is an error. */
  maxRetryAfterMs: number;
  /** Silence after which a connection is given up. */
  idleTimeoutMs: number;
  /** The shortest time between two progress calls for one file. */
  progressIntervalMs: number;
  lockPollMs: number;
  /** A lock of another process whose heartbeat rests this long is taken over. */
  lockStaleMs: number;
}

/** Options and environment brought together; what all parts of the Hub client work with. */
export interface HubSettings extends HubTuning {
  endpoint: string;
  token: string | undefined;
  cacheDir: string;
  offline: boolean;
  allowSymlinks: boolean;
  dtype: WeightFormat;
  maxParallel: number;
  signal: AbortSignal | undefined;
  onProgress: ProgressListener | undefined;
  onBeforeDownload: HubOptions["onBeforeDownload"];
  onNotice: (message: string) => void;
  fetch: typeof fetch;
}

const DEFAULT_TUNING: Omit<HubTuning, "idleTimeoutMs"> = {
  maxAttempts: 5,
  baseDelayMs: 500,
  maxDelayMs: 8_000,
  maxRetryAfterMs: 300_000,
  progressIntervalMs: 50,
  lockPollMs: 200,
  lockStaleMs: 60_000,
};

/**
 * Brings options, environment and defaults together.
 *
 * @throws VdError `attr` for a wrong endpoint or parallelism
 */
export async function hubSettings(options: HubOptions): Promise<HubSettings> {
  const environment = readHubEnvironment(options.environment);
  const maxParallel = options.maxParallel ?? 4;
  if (!Number.isInteger(maxParallel) || maxParallel < 1 || maxParallel > 16) {
    throw new VdError({
      code: "attr",
      where: "maxParallel",
      expected: "a whole number from 1 to 16",
      got: String(options.maxParallel),
    });
  }
  return {
    ...DEFAULT_TUNING,
    idleTimeoutMs: environment.idleTimeoutMs,
    ...options.tuning,
    endpoint: checkedEndpoint(options.endpoint?.replace(/\/+$/, "") ?? environment.endpoint),
    token: await chosenToken(options, environment),
    cacheDir: options.cacheDir === undefined ? environment.cacheDir : resolve(options.cacheDir),
    offline: options.offline ?? environment.offline,
    allowSymlinks: environment.allowSymlinks,
    dtype: options.dtype ?? "fp32",
    maxParallel,
    signal: options.signal,
    onProgress: options.onProgress,
    onBeforeDownload: options.onBeforeDownload,
    onNotice: options.onNotice ?? (() => {}),
    fetch: options.fetch ?? globalThis.fetch,
  };
}

async function chosenToken(options: HubOptions, environment: HubEnvironment): Promise<string | undefined> {
  if (options.token === false) return undefined;
  return options.token ?? (await readImplicitToken(environment));
}

function checkedEndpoint(endpoint: string): string {
  if (URL.canParse(endpoint) && /^https?:$/.test(new URL(endpoint).protocol)) return endpoint;
  throw new VdError({
    code: "attr",
    where: "HF_ENDPOINT",
    expected: "an address that starts with https:// or http://",
    got: `"${endpoint}"`,
    hint: "Unset HF_ENDPOINT to use https://huggingface.co.",
  });
}
