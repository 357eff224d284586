import { mkdir, stat } from "node:fs/promises";
import { dirname } from "node:path";
import { PATH, requireArgument } from "@vd/kernels-native";
import { systemCode } from "./file-error";

/**
 * Makes a folder and those above it that are not there. Unlike `mkdir` with `recursive`, which in Node.js 20
 * never returns where a folder is there and yet takes no folders, as `/proc`, it ends with the system's error.
 *
 * @throws the error of the operating system; VdError `attr` for what is no path
 */
export async function makeFolder(path: string): Promise<void> {
  requireArgument("makeFolder", path, PATH);
  try {
    await makeOne(path);
  } catch (error) {
    const parent = dirname(path);
    if (systemCode(error) !== "ENOENT" || parent === path) throw error;
    if (!(await isFolder(parent))) await makeFolder(parent);
    // Where the parent is there, maybe since a moment ago, only a second failure means that it takes no folders.
    await makeOne(path);
  }
}

async function makeOne(path: string): Promise<void> {
  try {
    await mkdir(path);
  } catch (error) {
    if (systemCode(error) !== "EEXIST" || !(await isFolder(path))) throw error;
  }
}

function isFolder(path: string): Promise<boolean> {
  return stat(path).then(
    (found) => found.isDirectory(),
    () => false,
  );
}
