import { statSync } from "node:fs";
import { having, listOf, PATH, requireArgument, VdError } from "@vd/kernels-native";

/** A mapped file as it was when it was opened. */
export interface OpenFile {
  path: string;
  device: number;
  inode: number;
  bytes: number;
  modifiedMs: number;
}

const PATHS = listOf(PATH);
const FILES = listOf(having("a file as recordFiles gives it", ["path", "bytes", "modifiedMs"]));

function describe(path: string): OpenFile | undefined {
  const found = statSync(path, { throwIfNoEntry: false });
  return (
    found && { path, device: found.dev, inode: found.ino, bytes: found.size, modifiedMs: Math.trunc(found.mtimeMs) }
  );
}

/** Remembers files that are mapped. @throws VdError `attr` for what are no paths */
export function recordFiles(paths: readonly string[]): OpenFile[] {
  requireArgument("recordFiles", paths, PATHS);
  return paths.map(describe).filter((file) => file !== undefined);
}

/**
 * Weights are mapped, so a file that is written to in place would change the model halfway, and one that is cut off
 * would end the process when a missing page is read: look before they are read. A file that was deleted or replaced by
 * renaming another one is no harm, since the mapping keeps the old contents.
 *
 * @throws VdError `io`, `attr` for what {@link recordFiles} did not give
 */
export function checkUnchanged(files: readonly OpenFile[]): void {
  requireArgument("checkUnchanged", files, FILES);
  for (const before of files) {
    const now = describe(before.path);
    const isSameFile = now && now.device === before.device && now.inode === before.inode;
    if (!isSameFile || (now.bytes === before.bytes && now.modifiedMs === before.modifiedMs)) continue;
    const got = now.bytes === before.bytes ? "newer contents" : `${now.bytes} bytes`;
    throw new VdError({
      code: "io",
      where: before.path,
      expected: `the weights as they were opened, ${before.bytes} bytes`,
      got,
      hint: "The file was written to while the model was open: open the model again.",
    });
  }
}
