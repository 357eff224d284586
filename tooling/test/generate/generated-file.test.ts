import { mkdtempSync, readFileSync, rmSync, statSync, utimesSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, expect, test } from "vitest";
import { type GeneratedFile, orphanedPages, stalePaths, writeStale } from "../../generate/generated-file";

const folder = mkdtempSync(join(tmpdir(), "vd-generate-"));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

test("files that are missing or changed are stale, and are written; a fresh one is left alone", () => {
  const file = (name: string, text: string): GeneratedFile => [join(folder, name), text];
  const files = [file("fresh.ts", "a"), file("changed.ts", "b"), file("new/deep.ts", "c")];
  writeFileSync(join(folder, "fresh.ts"), "a");
  writeFileSync(join(folder, "changed.ts"), "by hand");
  utimesSync(join(folder, "fresh.ts"), 1, 1);
  expect(stalePaths(files)).toEqual([join(folder, "changed.ts"), join(folder, "new/deep.ts")]);
  writeStale(files);
  expect(stalePaths(files)).toEqual([]);
  expect(readFileSync(join(folder, "new/deep.ts"), "utf8")).toBe("c");
  expect(statSync(join(folder, "fresh.ts")).mtimeMs).toBe(1000);
});

test("generated pages of what is no longer there are orphans, those written by hand are not", () => {
  const pages = mkdtempSync(join(folder, "pages-"));
  const page = (name: string, text: string) => {
    writeFileSync(join(pages, name), text);
    return join(pages, name);
  };
  const kept = page("kept.md", "<!-- Generated from ops/kept -->");
  const gone = page("gone.md", "<!-- Generated from ops/gone -->");
  page("by-hand.md", "# By hand");
  page("picture.svg", "<!-- Generated from ops/gone -->");
  expect(orphanedPages(pages, [[kept, ""]])).toEqual([gone]);
});
