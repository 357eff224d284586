import { requireArgument, TEXT, VdError } from "@vd/kernels-native";
import { readHubEnvironment } from "./environment";

/** True for a full commit hash: 40 hexadecimal digits, lower case. */
export function isCommitHash(text: string): boolean {
  return /^[0-9a-f]{40}$/.test(text);
}

/** A model of the Hub as its users name it. */
export interface HubModelName {
  /** `org/name` */
  repo: string;
  /** Branch, tag or commit, if the name has one. */
  revision: string | undefined;
}

/** Hosts of the public Hub. */
const PUBLIC_HOSTS = ["huggingface.co", "www.huggingface.co", "hf.co"];

const NAME = { ...TEXT, expected: "a model of the Hub as org/name" };

/**
 * Reads the name of a model on the Hub: `org/name` or `org/name@revision`, with or without `hf:` in front, or the
 * address of its page, `https://huggingface.co/org/name` or `…/tree/revision`. Undefined for any other text. endpoint:
 * the Hub's own address, whose pages are read too; default HF_ENDPOINT.
 * Source of the rules: huggingface/huggingface_hub src/huggingface_hub/utils/_validators.py `validate_repo_id`.
 *
 * @throws VdError `attr` for what is no text
 */
export function parseHubModelName(text: string, endpoint = readHubEnvironment().endpoint): HubModelName | undefined {
  requireArgument("parseHubModelName", text, NAME);
  const name = /^https?:\/\//i.test(text) ? nameOfPage(text, endpoint) : text.replace(/^hf:/, "");
  const match = /^(\w[\w.-]*\/\w[\w.-]*)(?:@(.+))?$/.exec(name ?? "");
  const repo = match?.[1];
  if (repo === undefined || repo.length > 96 || /--|\.\.|\.git$|[.-]$|[.-]\//.test(repo)) return undefined;
  const revision = match?.[2];
  if (revision !== undefined && !isSafeRelativePath(revision)) return undefined;
  return { repo, revision };
}

/** `org/name` or `org/name@revision` of the address of a model's page. */
function nameOfPage(address: string, endpoint: string): string | undefined {
  if (!URL.canParse(address)) return undefined;
  const { host, pathname } = new URL(address);
  const hosts = URL.canParse(endpoint) ? [...PUBLIC_HOSTS, new URL(endpoint).host] : PUBLIC_HOSTS;
  if (!hosts.includes(host)) return undefined;
  const [, page, revision] = /^\/([^/]+\/[^/]+?)(?:\/tree\/(.+?))?\/?$/.exec(pathname) ?? [];
  if (page === undefined || revision === undefined) return page;
  try {
    return `${page}@${decodeURIComponent(revision)}`;
  } catch {
    return undefined;
  }
}

/**
 * True if a name with `/` stays below the folder it is appended to, on Linux and on Windows: no empty or dot parts, no
 * part that ends in a dot or blank (Windows drops those), no backslash, no drive or stream colon, no control characters.
 */
export function isSafeRelativePath(name: string): boolean {
  // biome-ignore lint/suspicious/noControlCharactersInRegex: control characters are what this refuses
  if (name.length > 1024 || /[\\:\u0000-\u001f]/.test(name)) return false;
  return name.split("/").every((part) => part !== "" && !/[. ]$/.test(part));
}

/**
 * Names of a listing that may be used as paths; names that only some systems take are left out.
 *
 * @throws VdError `io` for one that leads out of its folder: such a server is not to be trusted at all
 */
export function checkFileName(name: unknown, repo: string): name is string {
  if (typeof name === "string" && isSafeRelativePath(name)) return true;
  if (typeof name === "string" && !/^[\\/]|(?:^|[\\/])\.\.(?:[\\/]|$)/.test(name)) return false;
  throw new VdError({
    code: "io",
    where: repo,
    expected: "file names inside the repository",
    got: JSON.stringify(name) ?? String(name),
    hint: "Nothing was downloaded, because the server's file list is not safe. Check HF_ENDPOINT.",
  });
}
