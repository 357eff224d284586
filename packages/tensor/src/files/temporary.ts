import { randomBytes } from "node:crypto";
import { rmSync } from "node:fs";
import { basename, dirname, join } from "node:path";
import { PATH, requireArgument } from "@vd/kernels-native";

/** Everything half-written that must be gone when the process ends, whichever way it ends. */
const pending = new Set<string>();

/**
 * A name in the same folder as `path`, so that renaming never copies; remembered until {@link settled}.
 * Hidden on Unix, and with no extension that a viewer would pick up.
 */
export function temporaryName(path: string): string {
  requireArgument("temporaryName", path, PATH);
  const name = join(dirname(path), `.${basename(path)}.${randomBytes(4).toString("hex")}.tmp`);
  pending.add(name);
  return name;
}

/** Forgets a temporary that was renamed to its final name. */
export function settled(name: string): void {
  pending.delete(name);
}

/** Removes one temporary file or folder; a failure to do so is not worth hiding the first error. */
export function discard(name: string): void {
  pending.delete(name);
  try {
    rmSync(name, { recursive: true, force: true });
  } catch {
    // The caller reports why the work failed; a left-over temporary is named so that users see what it is.
  }
}

/** Removes all temporaries at once, without waiting: for a process about to exit. */
export function discardAll(): void {
  for (const name of [...pending]) discard(name);
}
