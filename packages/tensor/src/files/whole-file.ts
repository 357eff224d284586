import { closeSync, fsyncSync, type OpenMode, openSync, renameSync, type Stats, statSync } from "node:fs";
import { type FileHandle, open, rename, stat } from "node:fs/promises";
import { tmpdir } from "node:os";
import { basename, dirname, join } from "node:path";
import {
  FLAG,
  FUNCTION,
  optional,
  PATH,
  requireArgument,
  requireFields,
  SIGNAL,
  TEXT,
  VdError,
  type Wanted,
} from "@vd/kernels-native";
import { fileError, systemCode } from "./file-error";
import { checkOpenEnd, isOpenEnd, OPEN_END_FLAGS, sendFile } from "./open-end";
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

const PLACE = {
  ...{ where: optional(TEXT), overwrite: optional(FLAG), signal: optional(SIGNAL) },
  ...{ takenHint: optional(TEXT), folderHint: optional(TEXT) },
};

/** What a file can be made of. */
const CONTENTS: Wanted = {
  expected: "a text or bytes",
  fits: (value) => typeof value === "string" || value instanceof Uint8Array,
};

/** Refuses what is no place for a file. @throws VdError `attr` */
function requirePlace(where: string, path: unknown, options: unknown): void {
  requireArgument(where, path, PATH);
  requireFields(where, options, PLACE);
}

const WRITABLE = "a file that can be written";

/** The status of what a path leads to if that is no place for a file, but written to as it is. */
async function openEndAt(path: string, where?: string): Promise<Stats | undefined> {
  const found = await statIfThere(path);
  return found && isOpenEnd(path, found, where) ? found : undefined;
}

/**
 * Writes a file whole or not at all: `write` fills a temporary name in the same folder, which then takes the final one. A link to
 * a file is replaced, and the file stays. Pipes and devices, such as /dev/stdout, are never replaced: they are sent the bytes
 * once all are there. Returns the size of the file in bytes.
 * @throws VdError `io`, or what `write` throws; the temporary is gone then.
 */
export async function placeFile(
  path: string,
  options: PlaceOptions,
  write: (temporary: string) => Promise<void>,
): Promise<number> {
  requirePlace("placeFile", path, options);
  requireArgument("placeFile write", write, FUNCTION);
  let temporary: string | undefined;
  try {
    const isSent = (await openEndAt(path, options.where)) !== undefined;
    // The folder of a device or a pipe may not take files.
    temporary = temporaryName(isSent ? join(tmpdir(), basename(path)) : path);
    await write(temporary);
    options.signal?.throwIfAborted();
    const { size } = await stat(temporary);
    const openEnd = await openEndAt(path, options.where);
    if (openEnd) {
      await sendFile(temporary, path, openEnd, options.signal);
      discard(temporary);
    } else {
      await requireFree(path, options);
      await rename(temporary, path);
      settled(temporary);
    }
    return size;
  } catch (error) {
    if (temporary !== undefined) discard(temporary);
    throw systemCode(error) ? fileError(path, WRITABLE, error, options.where) : error;
  }
}

/**
 * As {@link placeFile}, at once: `write` fills a new file through its descriptor, which is then forced to the disk. What is
 * written to as it is, such as a pipe, is `write`'s own; this waits for its reader.
 * @throws VdError `io`, or what `write` throws; the temporary is gone then.
 */
export function placeFileSync(path: string, write: (descriptor: number) => void): void {
  try {
    const found = statSync(path, { throwIfNoEntry: false });
    if (found && isOpenEnd(path, found)) fillSync(path, OPEN_END_FLAGS, write);
    else replaceSync(path, write);
  } catch (error) {
    throw systemCode(error) ? fileError(path, WRITABLE, error) : error;
  }
}

function replaceSync(path: string, write: (descriptor: number) => void): void {
  const temporary = temporaryName(path);
  try {
    fillSync(temporary, "wx", (descriptor) => {
      write(descriptor);
      fsyncSync(descriptor);
    });
    renameSync(temporary, path);
    settled(temporary);
  } catch (error) {
    discard(temporary);
    throw error;
  }
}

function fillSync(path: string, flags: OpenMode, write: (descriptor: number) => void): void {
  const descriptor = openSync(path, flags);
  try {
    write(descriptor);
  } finally {
    closeSync(descriptor);
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
export async function writeSynced(path: string, contents: string | Uint8Array): Promise<void> {
  requireArgument("writeSynced", path, PATH);
  requireArgument("writeSynced contents", contents, CONTENTS);
  return fillSynced(path, (file) => file.writeFile(contents));
}

/**
 * Waits until the names in a folder are on the disk: what was renamed into it stays after a power cut. Windows, which has no such
 * call, does nothing.
 *
 * @throws the error of the operating system
 */
export async function syncFolder(folder: string): Promise<void> {
  requireArgument("syncFolder", folder, PATH);
  if (process.platform === "win32") return;
  const opened = await open(folder, "r");
  try {
    await opened.sync();
  } finally {
    await opened.close();
  }
}

/** Writes contents to a file, whole or not at all, as {@link placeFile} does. Returns the size in bytes. @throws VdError `io`. */
export async function writeWholeFile(
  path: string,
  contents: string | Uint8Array,
  options: PlaceOptions = {},
): Promise<number> {
  requirePlace("writeWholeFile", path, options);
  requireArgument("writeWholeFile contents", contents, CONTENTS);
  return placeFile(path, options, (temporary) => writeSynced(temporary, contents));
}

/**
 * Finds out before any work whether a file can be written: its folder is there, takes files and has space. A pipe or a device
 * must only be one that may be written to.
 * @throws VdError `io` with what to do.
 */
export async function checkPlace(path: string, options: PlaceOptions): Promise<void> {
  requirePlace("checkPlace", path, options);
  const folder = dirname(path);
  await requireFolder(folder, options.where);
  if (await isWritableOpenEnd(path, options.where)) return;
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

/** False for a path that a file may take. @throws VdError `io` for a pipe or device that may not be written to. */
async function isWritableOpenEnd(path: string, where?: string): Promise<boolean> {
  try {
    if ((await openEndAt(path, where)) === undefined) return false;
    await checkOpenEnd(path);
    return true;
  } catch (error) {
    throw fileError(path, WRITABLE, error, where);
  }
}

/** Makes sure that there is a folder of this path. where: as in {@link PlaceOptions}. @throws VdError `io`. */
export async function requireFolder(folder: string, where = folder): Promise<void> {
  requireArgument("requireFolder", folder, PATH);
  const expected = "a folder that exists";
  const found = await stat(folder).catch((error: unknown) => {
    if (systemCode(error) !== "ENOENT") throw fileError(folder, expected, error, where);
    const hint = `Make it first: mkdir -p "${folder}"`;
    throw new VdError({ code: "io", where, expected, got: `none named ${folder}`, hint, cause: error });
  });
  if (!found.isDirectory()) throw new VdError({ code: "io", where, expected, got: `a file (${folder})` });
}

/**
 * Makes sure that a file may take this path.
 * @throws VdError `io` for a folder, a pipe or a device, or a file that must be kept
 */
export async function requireFree(path: string, options: PlaceOptions): Promise<void> {
  requirePlace("requireFree", path, options);
  const { where = path, overwrite = true } = options;
  const found = await statIfThere(path);
  if (found?.isDirectory()) {
    const hint = options.folderHint ?? "Choose another file name.";
    throw new VdError({ code: "io", where, expected: "a file name", got: `the name of a folder (${path})`, hint });
  }
  if (found && isOpenEnd(path, found, where)) {
    const hint = "Choose another file name.";
    throw new VdError({ code: "io", where, expected: "a name for a file", got: `a pipe or a device (${path})`, hint });
  }
  if (found && !overwrite) {
    const hint = options.takenHint ?? "Choose another name, or allow the file to be replaced.";
    throw new VdError({ code: "io", where, expected: "a name that is free", got: `an existing file (${path})`, hint });
  }
}

/** The status of a file, or undefined where there is none. */
export async function statIfThere(path: string): Promise<Stats | undefined> {
  requireArgument("statIfThere", path, PATH);
  try {
    return await stat(path);
  } catch (error) {
    if (systemCode(error) === "ENOENT") return undefined;
    throw error;
  }
}
