import { mkdir, stat } from "node:fs/promises";
import { dirname } from "node:path";
import { systemCode } from "./file-error";

/**
 * Makes a folder and those above it that are not there. Unlike `mkdir` with `recursive`, which in Node.js 20
 * never returns where a folder is there and yet takes no folders, as `/proc`, it ends with the system's error.
 *
 * @throws the error of the operating system
 */
export async function makeFolder(path: string): Promise<void> {
  try {
    await mkdir(path);
  } catch (error) {
    const code = systemCode(error);
    if (code === "EEXIST" && (await isFolder(path))) return;
    const parent = dirname(path);
    if (code !== "ENOENT" || parent === path || (await isFolder(parent))) throw error;
    await makeFolder(parent);
    // Another process may have been faster.
    await mkdir(path).catch(async (again: unknown) => {
      if (!(await isFolder(path))) throw again;
    });
  }
}

function isFolder(path: string): Promise<boolean> {
  return stat(path).then(
    (found) => found.isDirectory(),
    () => false,
  );
}
