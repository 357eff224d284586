import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, expect, test } from "vitest";
import { assertFreshImages, writeManifest } from "../../../build/addon/manifest.mjs";

const dir = mkdtempSync(join(tmpdir(), "vd-images-"));
afterAll(() => rmSync(dir, { recursive: true, force: true }));

test("device code of other sources, or of none known, is refused by what packs it", () => {
  const refusal = /built from other sources than the tree has: run `pnpm build:cubins` first/;
  expect(() => assertFreshImages(dir, "new")).toThrow(refusal);
  writeFileSync(join(dir, "sm_90a.fatbin"), "code");
  writeManifest(dir, { sources: "old" });
  expect(() => assertFreshImages(dir, "new")).toThrow(refusal);
  writeManifest(dir, { sources: "new" });
  expect(() => assertFreshImages(dir, "new")).not.toThrow();
});
