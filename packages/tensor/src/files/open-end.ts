import { constants, type Stats } from "node:fs";
import { access, type FileHandle, open } from "node:fs/promises";
import { resolve } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { VdError } from "@vd/kernels-native";
import { systemCode } from "./file-error";

/** What is written to a place at a time, in bytes. */
const PIECE = 2 ** 20;
/** How long a pipe is left alone that has no reader yet, or is full, in milliseconds. */
const PAUSE = 10;

/** Names of what the process itself has open, which may be a regular file that somebody else writes to as well. */
const DESCRIPTOR = /^\/(dev\/(stdin|stdout|stderr|fd\/\d+)|proc\/[^/]+\/(task\/\d+\/)?fd\/\d+)$/;

/** How a place is opened that is there already: nothing is made, and what is in it stays. */
export const OPEN_END_FLAGS = constants.O_WRONLY | constants.O_APPEND;

/**
 * True for what bytes are written to and no file can take the place of: pipes, terminals and other devices of characters, and
 * descriptors of the process such as /dev/stdout. stats: of the path, with links followed.
 *
 * @throws VdError `io` for a device of blocks or a socket, which cannot be written to so
 */
export function isOpenEnd(path: string, stats: Stats, where = path): boolean {
  if (stats.isFIFO() || stats.isCharacterDevice()) return true;
  if (stats.isFile()) return DESCRIPTOR.test(resolve(path));
  if (stats.isDirectory()) return false;
  const kind = stats.isBlockDevice() ? "a device of blocks" : stats.isSocket() ? "a socket" : "something else";
  const got = where === path ? kind : `${kind} (${path})`;
  const hint = "Choose another name.";
  throw new VdError({ code: "io", where, expected: "a file, a pipe or a device that takes bytes", got, hint });
}

/** Makes sure that an open end may be written to. @throws the error of the operating system */
export const checkOpenEnd = (path: string): Promise<void> => access(path, constants.W_OK);

/** The result of `work` once the operating system no longer says `code`, so that an abort ends the waiting. */
async function onceReady<T>(code: string, signal: AbortSignal | undefined, work: () => Promise<T>): Promise<T> {
  for (;;) {
    signal?.throwIfAborted();
    try {
      return await work();
    } catch (error) {
      if (systemCode(error) !== code) throw error;
      await sleep(PAUSE);
    }
  }
}

/** Opens a named pipe once it has a reader; without waiting in the operating system, which no abort would end. */
function openToWrite(path: string, stats: Stats, signal: AbortSignal | undefined): Promise<FileHandle> {
  const begin = () => open(path, OPEN_END_FLAGS | (constants.O_NONBLOCK ?? 0));
  // The reader of a descriptor's pipe that has gone does not come back.
  return stats.isFIFO() && !DESCRIPTOR.test(resolve(path)) ? onceReady("ENXIO", signal, begin) : begin();
}

/**
 * Writes a file's bytes to an open end. A pipe is waited for until it has a reader, and while it is full.
 *
 * @throws the error of the operating system; the signal's reason
 */
export async function sendFile(from: string, to: string, stats: Stats, signal?: AbortSignal): Promise<void> {
  const source = await open(from, "r");
  try {
    const target = await openToWrite(to, stats, signal);
    try {
      const piece = Buffer.allocUnsafe(PIECE);
      for (;;) {
        const { bytesRead } = await source.read(piece, 0, PIECE);
        if (bytesRead === 0) return;
        for (let done = 0; done < bytesRead; ) {
          const write = () => target.write(piece, done, bytesRead - done);
          done += (await onceReady("EAGAIN", signal, write)).bytesWritten;
        }
      }
    } finally {
      await target.close();
    }
  } finally {
    await source.close();
  }
}
