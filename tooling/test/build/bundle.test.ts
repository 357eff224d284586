import { spawnSync } from "node:child_process";
import { mkdtempSync, readdirSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, expect, it } from "vitest";
import { bundle } from "../../build/bundle.mjs";

const folder = mkdtempSync(join(tmpdir(), "vd-bundle-"));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

it("leaves files that Node reads, also of modules that name their own folder", async () => {
  await bundle({ live: "apps/live/src/cli.ts" }, folder);
  const files = readdirSync(folder).filter((file) => file.endsWith(".mjs"));
  expect(files).toContain("live.mjs");
  for (const file of files) {
    const { status, stderr } = spawnSync(process.execPath, ["--check", join(folder, file)], { encoding: "utf8" });
    expect([file, status, stderr]).toEqual([file, 0, ""]);
  }
}, 120_000);
