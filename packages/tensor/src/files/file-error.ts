import { VdError } from "@vd/kernels-native";

const FULL = "Free some space or choose another folder.";
const FORBIDDEN = "Choose another folder or change its permissions.";

/** What the codes of the operating system mean, and what to do. */
const REASONS: Readonly<Record<string, { got: string; hint?: string }>> = {
  ENOENT: { got: "no such file or folder", hint: "Check the path." },
  ENOTDIR: { got: "a path that leads through a file", hint: "Check the path." },
  ELOOP: { got: "a loop of symbolic links", hint: "Check the path." },
  EISDIR: { got: "a folder", hint: "Name a file." },
  EACCES: { got: "no permission", hint: FORBIDDEN },
  EPERM: { got: "no permission", hint: FORBIDDEN },
  EROFS: { got: "a read-only file system", hint: "Choose another folder." },
  ENOSPC: { got: "no space left on the device", hint: FULL },
  EDQUOT: { got: "the disk quota used up", hint: FULL },
  EFBIG: { got: "a file too large for the file system", hint: "Choose another folder." },
  ENAMETOOLONG: { got: "a name that is too long", hint: "Shorten it." },
  EMFILE: { got: "too many open files", hint: "Close other programs or raise the limit." },
  ENFILE: { got: "too many open files in the system", hint: "Close other programs." },
  EBUSY: { got: "a file in use", hint: "Close the program that has it open." },
  EPIPE: { got: "a pipe whose reader has gone" },
  ENXIO: { got: "a pipe or a device with nothing at its other end" },
  EEXIST: { got: "something that is already there", hint: "Choose another name." },
};

/**
 * Returns a VdError `io` in words for what the operating system said about a file; a VdError is returned as it is.
 * where: what the caller's users call the file, such as `--output`; default: the path.
 */
export function fileError(path: string, expected: string, cause: unknown, where = path): VdError {
  if (cause instanceof VdError) return cause;
  const code = (cause as NodeJS.ErrnoException | null)?.code;
  const reason = code === undefined ? undefined : REASONS[code];
  const text = reason?.got ?? (cause instanceof Error ? cause.message : String(cause));
  const got = where === path ? text : `${text} (${path})`;
  return new VdError({ code: "io", where, expected, got, hint: reason?.hint, cause });
}

/** The code of an error of the operating system, such as `ENOSPC`; undefined for any other error. */
export function systemCode(error: unknown): string | undefined {
  if (!(error instanceof Error) || !("syscall" in error) || !("code" in error)) return undefined;
  return typeof error.code === "string" ? error.code : undefined;
}
