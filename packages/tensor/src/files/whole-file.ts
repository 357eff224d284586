import { closeSync, fsyncSync, openSync, renameSync, type Stats } from "node:fs";
import { type FileHandle, open, rename, stat } from "node:fs/promises";
import { dirname } from "node:path";
import { VdError } from "@vd/kernels-native";
import { fileError, systemCode } from "./file-error";
import { discard, settled, temporaryName } from "./temporary";

/** How a file is to be put in place. */
export interface PlaceOptions {
  /** What the caller's users call the file, such as `--output`; default: the path. */
  where?: string | undefined;
  /** Whether a file of the name may be replaced; default true. */
  overwrite?: boolean | undefined;
  signal?: AbortSignal | undefined;
  /** What to do about a file that must be kept. */
  takenHint?: string | undefined;
  /** What to do about a folder of the name. */
  folderHint?: string | undefined;
}

const WRITABLE = "a file that can be written";

/**
 * Writes a file whole or not at all: `write` fills a temporary name in the same folder, which then takes the final one.
 * Returns the size of the file in bytes.
 * @throws VdError `io`, or what `write` throws; the temporary is gone then.
 */
export async function placeFile(
  path: string,
  options: PlaceOptions,
  write: (temporary: string) => Promise<void>,
): Promise<number> {
  const temporary = temporaryName(path);
  try {
    await write(temporary);
    options.signal?.throwIfAborted();
    await requireFree(path, options);
    const { size } = await stat(temporary);
    await rename(temporary, path);
    settled(temporary);
    return size;
  } catch (error) {
    discard(temporary);
    throw systemCode(error) ? fileError(path, WRITABLE, error, options.where) : error;
  }
}

/**
 * As {@link placeFile}, at once: `write` fills a new file through its descriptor, which is then forced to the disk.
 * @throws VdError `io`, or what `write` throws; the temporary is gone then.
 */
export function placeFileSync(path: string, write: (descriptor: number) => void): void {
  const temporary = temporaryName(path);
  try {
    const descriptor = openSync(temporary, "wx");
    try {
      write(descriptor);
      fsyncSync(descriptor);
    } finally {
      closeSync(descriptor);
    }
    renameSync(temporary, path);
    settled(temporary);
  } catch (error) {
    discard(temporary);
    throw systemCode(error) ? fileError(path, WRITABLE, error) : error;
  }
}

/** Makes a new file, lets `write` fill it and waits until it is on the disk, where a full one shows. */
export async function fillSynced(path: string, write: (file: FileHandle) => Promise<void>): Promise<void> {
  const file = await open(path, "wx");
  try {
    await write(file);
    await file.sync();
  } finally {
    await file.close();
  }
}

/** Writes a new file and waits until it is on the disk. */
export function writeSynced(path: string, contents: string | Uint8Array): Promise<void> {
  return fillSynced(path, (file) => file.writeFile(contents));
}

/**
 * Waits until the names in a folder are on the disk: what was renamed into it stays after a power cut. Windows, which has no such
 * call, does nothing.
 *
 * @throws the error of the operating system
 */
export async function syncFolder(folder: string): Promise<void> {
  if (process.platform === "win32") return;
  const opened = await open(folder, "r");
  try {
    await opened.sync();
  } finally {
    await opened.close();
  }
}

/** Writes contents to a file, whole or not at all. Returns the size in bytes. @throws VdError `io`. */
export function writeWholeFile(
  path: string,
  contents: string | Uint8Array,
  options: PlaceOptions = {},
): Promise<number> {
  return placeFile(path, options, (temporary) => writeSynced(temporary, contents));
}

/**
 * Finds out before any work whether a file can be written: its folder is there, takes files and has space.
 * @throws VdError `io` with what to do.
 */
export async function checkPlace(path: string, options: PlaceOptions): Promise<void> {
  const folder = dirname(path);
  await requireFolder(folder, options.where);
  await requireFree(path, options);
  const probe = temporaryName(path);
  try {
    await writeSynced(probe, new Uint8Array(4096));
  } catch (error) {
    throw fileError(folder, "a folder that can be written to", error, options.where);
  } finally {
    discard(probe);
  }
}

/** Makes sure that there is a folder of this path. where: as in {@link PlaceOptions}. @throws VdError `io`. */
export async function requireFolder(folder: string, where = folder): Promise<void> {
  const expected = "a folder that exists";
  const found = await stat(folder).catch((error: unknown) => {
    if (systemCode(error) !== "ENOENT") throw fileError(folder, expected, error, where);
    const hint = `Make it first: mkdir -p "${folder}"`;
    throw new VdError({ code: "io", where, expected, got: `none named ${folder}`, hint, cause: error });
  });
  if (!found.isDirectory()) throw new VdError({ code: "io", where, expected, got: `a file (${folder})` });
}

/** Makes sure that a file may take this path. @throws VdError `io` for a folder, or a file that must be kept. */
export async function requireFree(path: string, options: PlaceOptions): Promise<void> {
  const { where = path, overwrite = true } = options;
  const found = await statIfThere(path);
  if (found?.isDirectory()) {
    const hint = options.folderHint ?? "Choose another file name.";
    throw new VdError({ code: "io", where, expected: "a file name", got: `the name of a folder (${path})`, hint });
  }
  if (found && !overwrite) {
    const hint = options.takenHint ?? "Choose another name, or allow the file to be replaced.";
    throw new VdError({ code: "io", where, expected: "a name that is free", got: `an existing file (${path})`, hint });
  }
}

/** The status of a file, or undefined where there is none. */
export async function statIfThere(path: string): Promise<Stats | undefined> {
  try {
    return await stat(path);
  } catch (error) {
    if (systemCode(error) === "ENOENT") return undefined;
    throw error;
  }
}
