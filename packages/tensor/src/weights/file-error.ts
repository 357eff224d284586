import { VdError } from "@vd/kernels-native";

const reasons: Readonly<Record<string, string>> = {
  ENOENT: "no such file or folder",
  ENOTDIR: "a path that leads through a file",
  EACCES: "a file that may not be opened (permission denied)",
  EPERM: "a file that may not be opened (operation not permitted)",
  EISDIR: "a folder",
  EMFILE: "too many open files",
  ENFILE: "too many open files in the system",
  ENAMETOOLONG: "a path that is too long",
  ELOOP: "a loop of symbolic links",
  ENOSPC: "no space left on the disk",
  EDQUOT: "a full disk quota",
  EROFS: "a read-only file system",
};

const hints: Readonly<Record<string, string>> = {
  ENOENT: "Check the path.",
  ENOSPC: "Free some space or choose another folder.",
  EDQUOT: "Free some space or choose another folder.",
  EACCES: "Check the file's and the folder's permissions.",
};

/** Says what the operating system's error means, as an `io` error about `path`; a VdError passes unchanged. */
export function fileError(path: string, expected: string, error: unknown): VdError {
  if (error instanceof VdError) return error;
  const code = (error as NodeJS.ErrnoException | null)?.code;
  const message = error instanceof Error ? error.message : String(error);
  const got = (code !== undefined ? reasons[code] : undefined) ?? message;
  return new VdError({ code: "io", where: path, expected, got, hint: code ? hints[code] : undefined, cause: error });
}
