import { randomBytes } from "node:crypto";
import { statSync } from "node:fs";
import { open, rename, rm } from "node:fs/promises";
import { dirname } from "node:path";
import { VdError } from "@vd/kernels-native";

const HINTS: Readonly<Record<string, string>> = {
  ENOENT: "Make its folder first.",
  ENOSPC: "Free some space or choose another folder.",
  EACCES: "Choose another folder or change its permissions.",
};

/** Throws VdError `io` if the folder that the file is to be in is not there. */
export function requireFolder(where: string, path: string): void {
  const folder = dirname(path);
  if (statSync(folder, { throwIfNoEntry: false })?.isDirectory()) return;
  throw new VdError({
    code: "io",
    where,
    expected: `a folder ${folder} for the results`,
    got: "none",
    hint: HINTS.ENOENT,
  });
}

/** Writes a file whole or not at all: a temporary name in the same folder takes the final one. Throws VdError `io`. */
export async function writeWholeFile(path: string, contents: string | Uint8Array): Promise<void> {
  const temporary = `${path}.${randomBytes(6).toString("hex")}.tmp`;
  try {
    const file = await open(temporary, "wx");
    try {
      await file.writeFile(contents);
      await file.sync();
    } finally {
      await file.close();
    }
    await rename(temporary, path);
  } catch (error) {
    await rm(temporary, { force: true });
    const { code = "", message } = error as NodeJS.ErrnoException;
    const expected = "a file that can be written";
    throw new VdError({ code: "io", where: path, expected, got: message, hint: HINTS[code], cause: error });
  }
}
