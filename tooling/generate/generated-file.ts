import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { dirname } from "node:path";

/** A file that a generator makes: its absolute path and its whole text. */
export type GeneratedFile = readonly [path: string, text: string];

function isFresh([path, text]: GeneratedFile): boolean {
  try {
    return readFileSync(path, "utf8") === text;
  } catch {
    return false;
  }
}

/** Returns the paths of those `files` that are missing or have another text. */
export function stalePaths(files: readonly GeneratedFile[]): string[] {
  return files.filter((file) => !isFresh(file)).map(([path]) => path);
}

/** Writes those `files` that are missing or have another text: a fresh one keeps its time, so that nothing is built again. */
export function writeStale(files: readonly GeneratedFile[]): void {
  for (const file of files) {
    if (isFresh(file)) continue;
    const [path, text] = file;
    mkdirSync(dirname(path), { recursive: true });
    writeFileSync(path, text);
  }
}
