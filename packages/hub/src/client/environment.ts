import { readFile } from "node:fs/promises";
import { homedir } from "node:os";
import { join, resolve } from "node:path";

/** Environment variables by name, e.g. `process.env`. */
export type Variables = Readonly<Record<string, string | undefined>>;

/** Every environment variable that the Hub client reads, with its meaning: the source of the documentation. */
export const HUB_ENVIRONMENT_VARIABLES: Readonly<Record<string, string>> = {
  HF_ENDPOINT: "Address of the Hub or of a mirror. Default: https://huggingface.co",
  HF_HOME: "Folder of the token and of the cache. Default: $XDG_CACHE_HOME/huggingface, else ~/.cache/huggingface",
  XDG_CACHE_HOME: "Folder of user caches, used where HF_HOME is not set. Default: ~/.cache",
  HF_HUB_CACHE: "Folder of downloaded models. Default: $HF_HOME/hub",
  HUGGINGFACE_HUB_CACHE: "Older name of HF_HUB_CACHE, used where that is not set",
  HF_TOKEN: "Access token for private and gated models",
  HUGGING_FACE_HUB_TOKEN: "Older name of HF_TOKEN, used where that is not set",
  HF_TOKEN_PATH: "File that holds the access token, used where HF_TOKEN is not set. Default: $HF_HOME/token",
  HF_HUB_DISABLE_IMPLICIT_TOKEN: "1: send no token but one given in the options",
  HF_HUB_OFFLINE: "1: use cached models only, open no connection",
  TRANSFORMERS_OFFLINE: "Same as HF_HUB_OFFLINE, used where that is not set",
  HF_HUB_DISABLE_SYMLINKS: "1: keep real files instead of symbolic links in the cache's snapshots",
  HF_HUB_DOWNLOAD_TIMEOUT: "Seconds without a byte after which a connection is given up and tried again. Default: 30",
};

/** What the environment says about the Hub, before the options of a call. */
export interface HubEnvironment {
  /** Without a slash at the end. */
  endpoint: string;
  /** Absolute path of the folder that holds `models--org--name`. */
  cacheDir: string;
  /** From HF_TOKEN; else the file at `tokenPath` may hold one. */
  token: string | undefined;
  tokenPath: string;
  useImplicitToken: boolean;
  offline: boolean;
  allowSymlinks: boolean;
  idleTimeoutMs: number;
}

const DEFAULT_ENDPOINT = "https://huggingface.co";
const DEFAULT_IDLE_TIMEOUT_MS = 30_000;

/**
 * Reads the variables of {@link HUB_ENVIRONMENT_VARIABLES}: the one place where the Hub client looks at the environment.
 * An empty variable counts as unset.
 * Source: huggingface/huggingface_hub src/huggingface_hub/constants.py.
 */
export function readHubEnvironment(variables: Variables = process.env): HubEnvironment {
  const get = (name: keyof typeof HUB_ENVIRONMENT_VARIABLES) => variables[name] || undefined;
  const folder = (path: string) => resolve(expandPath(path, variables));
  const home = folder(
    get("HF_HOME") ?? join(get("XDG_CACHE_HOME") ?? join(userHome(variables), ".cache"), "huggingface"),
  );
  const timeoutSeconds = Number(get("HF_HUB_DOWNLOAD_TIMEOUT"));
  return {
    endpoint: (get("HF_ENDPOINT") ?? DEFAULT_ENDPOINT).replace(/\/+$/, ""),
    cacheDir: folder(get("HF_HUB_CACHE") ?? get("HUGGINGFACE_HUB_CACHE") ?? join(home, "hub")),
    token: cleanToken(get("HF_TOKEN") ?? get("HUGGING_FACE_HUB_TOKEN")),
    tokenPath: folder(get("HF_TOKEN_PATH") ?? join(home, "token")),
    useImplicitToken: !isOn(get("HF_HUB_DISABLE_IMPLICIT_TOKEN")),
    offline: isOn(get("HF_HUB_OFFLINE") ?? get("TRANSFORMERS_OFFLINE")),
    allowSymlinks: !isOn(get("HF_HUB_DISABLE_SYMLINKS")),
    idleTimeoutMs: timeoutSeconds > 0 ? timeoutSeconds * 1000 : DEFAULT_IDLE_TIMEOUT_MS,
  };
}

/** The token to send: from the environment, else from the token file, else none. A file that cannot be read is none. */
export async function readImplicitToken(environment: HubEnvironment): Promise<string | undefined> {
  if (!environment.useImplicitToken) return undefined;
  if (environment.token !== undefined) return environment.token;
  try {
    return cleanToken(await readFile(environment.tokenPath, "utf8"));
  } catch {
    return undefined;
  }
}

function cleanToken(text: string | undefined): string | undefined {
  return text?.replace(/[\r\n]/g, "").trim() || undefined;
}

function isOn(value: string | undefined): boolean {
  return ["1", "ON", "YES", "TRUE"].includes((value ?? "").toUpperCase());
}

function userHome(variables: Variables): string {
  return variables.HOME || variables.USERPROFILE || homedir();
}

/** `~`, `$NAME` and `${NAME}` in a path; names that are not set stay as they are. */
function expandPath(path: string, variables: Variables): string {
  const withHome = path.replace(/^~(?=$|[/\\])/, () => userHome(variables));
  return withHome.replace(/\$(?:(\w+)|\{(\w+)\})/g, (whole, plain, braced) => variables[plain ?? braced] ?? whole);
}
