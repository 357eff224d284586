import type { Stats } from "node:fs";
import { open, rename, stat } from "node:fs/promises";
import { dirname } from "node:path";
import { VdError } from "@vd/kernels-native";
import { fileError, systemCode } from "./file-error";
import { discard, settled, temporaryName } from "./temporary";

/** How a file is to be put in place. */
export interface PlaceOptions {
  /** What messages call it: `--output`, `--preview`. */
  where: string;
  overwrite: boolean;
  signal?: AbortSignal | undefined;
}

/**
 * Writes a file whole or not at all: `write` fills a temporary name in the same folder, which then takes the final one.
 * @returns the size of the file in bytes.
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
    throw systemCode(error) ? fileError(options.where, "a file that can be written", path, error) : error;
  }
}

/** Writes bytes to a new file and waits until they are on the disk, where a full one shows. */
export async function writeSynced(path: string, bytes: Uint8Array): Promise<void> {
  const file = await open(path, "wx");
  try {
    await file.writeFile(bytes);
    await file.sync();
  } finally {
    await file.close();
  }
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
    throw fileError(options.where, "a folder that can be written to", folder, error);
  } finally {
    discard(probe);
  }
}

/** @throws VdError `io` unless `folder` is a folder. */
export async function requireFolder(folder: string, where: string): Promise<void> {
  const expected = "a folder that exists";
  const found = await stat(folder).catch((error: unknown) => {
    if (systemCode(error) !== "ENOENT") throw fileError(where, expected, folder, error);
    const hint = `Make it first: mkdir -p "${folder}"`;
    throw new VdError({ code: "io", where, expected, got: `none named ${folder}`, hint, cause: error });
  });
  if (!found.isDirectory()) throw new VdError({ code: "io", where, expected, got: `a file (${folder})` });
}

/** @throws VdError `io` when `path` is a folder, or is there and must be kept. */
export async function requireFree(path: string, { where, overwrite }: PlaceOptions): Promise<void> {
  const found = await statIfThere(path);
  if (found?.isDirectory()) {
    const hint = "Choose another file name, or end the name with / to write PNG frames into the folder";
    throw new VdError({ code: "io", where, expected: "a file name", got: `the name of a folder (${path})`, hint });
  }
  if (found && !overwrite) {
    const hint = "Choose another name or leave out --no-overwrite";
    throw new VdError({ code: "io", where, expected: "a name that is free", got: `an existing file (${path})`, hint });
  }
}

/** @returns the status of a file, or undefined where there is none. */
export async function statIfThere(path: string): Promise<Stats | undefined> {
  try {
    return await stat(path);
  } catch (error) {
    if (systemCode(error) === "ENOENT") return undefined;
    throw error;
  }
}
