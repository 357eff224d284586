import { VdError } from "@vd/kernels-native";

/** What the codes of the operating system mean, and what to do. */
const REASONS: Record<string, { got: string; hint: string }> = {
  ENOENT: { got: "no such file or folder", hint: "Check the name" },
  ENOTDIR: { got: "a part of the path that is no folder", hint: "Check the name" },
  EISDIR: { got: "a folder", hint: "Name a file" },
  EACCES: { got: "no permission", hint: "Choose another folder or change its permissions" },
  EPERM: { got: "no permission", hint: "Choose another folder or change its permissions" },
  EROFS: { got: "a read-only file system", hint: "Choose another folder" },
  ENOSPC: { got: "no space left on the device", hint: "Free some space or choose another folder" },
  EDQUOT: { got: "the disk quota used up", hint: "Free some space or choose another folder" },
  EFBIG: { got: "a file too large for the file system", hint: "Choose another folder or a smaller video" },
  ENAMETOOLONG: { got: "a name that is too long", hint: "Shorten it" },
  EMFILE: { got: "too many open files", hint: "Close other programs or raise the limit" },
  EBUSY: { got: "a file in use", hint: "Close the program that has it open" },
  EEXIST: { got: "something that is already there", hint: "Choose another name" },
};

/** @returns a VdError `io` in words for an error of the file system about `path`. */
export function fileError(where: string, expected: string, path: string, cause: unknown): VdError {
  const code = systemCode(cause);
  const reason = code === undefined ? undefined : REASONS[code];
  const text = reason?.got ?? (cause instanceof Error ? cause.message : String(cause));
  return new VdError({ code: "io", where, expected, got: `${text} (${path})`, hint: reason?.hint, cause });
}

/** @returns the code of an error of the operating system, such as `ENOSPC`; undefined for any other error. */
export function systemCode(error: unknown): string | undefined {
  if (!(error instanceof Error) || !("syscall" in error) || !("code" in error)) return undefined;
  return typeof error.code === "string" ? error.code : undefined;
}
