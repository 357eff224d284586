import { mkdirSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";

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

/**
 * Paths of the pages in `folder` that say they are generated and are none of `files`: those of an op that is gone. Pages written by hand
 * are left out.
 */
export function orphanedPages(folder: string, files: readonly GeneratedFile[]): string[] {
  const made = new Set(files.map(([path]) => path));
  return readdirSync(folder)
    .filter((name) => name.endsWith(".md"))
    .map((name) => join(folder, name))
    .filter((path) => !made.has(path) && readFileSync(path, "utf8").startsWith("<!-- Generated from "));
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
