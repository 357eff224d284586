import { VdError } from "@vd/kernels-native";

/** True for a full commit hash: 40 hexadecimal digits, lower case. */
export function isCommitHash(text: string): boolean {
  return /^[0-9a-f]{40}$/.test(text);
}

/**
 * Reads `org/name` or `org/name@revision`; undefined for any other text.
 * Source of the rules: huggingface/huggingface_hub src/huggingface_hub/utils/_validators.py `validate_repo_id`.
 */
export function parseHubModelName(text: string): { repo: string; revision: string | undefined } | undefined {
  const match = /^(\w[\w.-]*\/\w[\w.-]*)(?:@(.+))?$/.exec(text);
  const repo = match?.[1];
  if (repo === undefined || repo.length > 96 || /--|\.\.|\.git$|[.-]$|[.-]\//.test(repo)) return undefined;
  const revision = match?.[2];
  if (revision !== undefined && !isSafeRelativePath(revision)) return undefined;
  return { repo, revision };
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
