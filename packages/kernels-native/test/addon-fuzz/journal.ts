import { closeSync, ftruncateSync, openSync, writeSync } from "node:fs";
import { inspect } from "node:util";

let descriptor: number | undefined;

/** Opens the file that holds the call under way, so that a crash can be told from outside. */
export function openJournal(path: string): void {
  descriptor = openSync(path, "w");
}

/** Replaces the file's text; written before the call, since nothing can be written after a crash. */
export function note(what: string, ...details: unknown[]): void {
  if (descriptor === undefined) return;
  const shown = details.map((value) =>
    inspect(value, { depth: 3, maxArrayLength: 400, breakLength: 200, getters: false }),
  );
  const bytes = Buffer.from(`${what} ${shown.join(" ")}\n`);
  ftruncateSync(descriptor, 0);
  writeSync(descriptor, bytes, 0, bytes.length, 0);
}

/** Closes the file. */
export function closeJournal(): void {
  if (descriptor !== undefined) closeSync(descriptor);
}
