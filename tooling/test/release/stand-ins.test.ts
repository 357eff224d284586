import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, expect, test } from "vitest";
import { putStandIns } from "../../release/stand-ins.mjs";

const artifacts = mkdtempSync(join(tmpdir(), "vd stand-ins "));
afterAll(() => rmSync(artifacts, { recursive: true, force: true }));

test("what a given folder lacks is put there, and what it has stays", () => {
  const host = join(artifacts, "addons/linux-x64");
  mkdirSync(host, { recursive: true });
  writeFileSync(join(host, "vd-native.node"), "real");
  writeFileSync(join(host, "manifest.json"), JSON.stringify({ format: 1, built: { sources: "abc" }, files: {} }));
  const paths: string[] = putStandIns(artifacts, ["addons"]);
  expect(paths).toContain("prebuilds/win32-x64/vd-native.node");
  expect(paths.filter((path) => path.startsWith("images/") || path.includes("linux-x64"))).toEqual([]);
  expect(readFileSync(join(host, "vd-native.node"), "utf8")).toBe("real");
  const manifest = JSON.parse(readFileSync(join(artifacts, "addons/win32-x64/manifest.json"), "utf8"));
  expect(manifest.built.sources).toBe("abc");
  expect(manifest.files["vd-native.node"].bytes).toBeGreaterThan(0);
  expect(putStandIns(artifacts, ["addons"])).toEqual([]);
});
