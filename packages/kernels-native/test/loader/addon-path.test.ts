import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { afterEach, expect, onTestFinished, test, vi } from "vitest";
import { addonPath, loadAddon } from "../../src/load";

afterEach(() => vi.unstubAllEnvs());

test("the package's own addon is loaded", () => {
  vi.stubEnv("VD_ADDON", "");
  expect(addonPath()).toMatch(/prebuilds[\\/].*vd-native\.node$/);
});

test("VD_ADDON names another one", () => {
  vi.stubEnv("VD_ADDON", "somewhere/other.node");
  expect(addonPath()).toBe(resolve("somewhere/other.node"));
});

test("not beside VD_VERIFY=1, which no manifest could answer", () => {
  vi.stubEnv("VD_ADDON", "other.node");
  vi.stubEnv("VD_VERIFY", "1");
  expect(addonPath).toThrow(
    /^\[VD_ADDON\] expected the package's own addon beside VD_VERIFY=1, got "other\.node"\. Unset/,
  );
  expect(loadAddon).toThrow(/^\[VD_ADDON\] expected the package's own addon/);
});

test("one that does not load is an error, and nothing else is loaded instead", () => {
  const folder = mkdtempSync(join(tmpdir(), "vd-addon-"));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  const path = join(folder, "broken.node");
  writeFileSync(path, "no library");
  vi.stubEnv("VD_ADDON", path);
  vi.stubEnv("VD_VERIFY", "");
  expect(loadAddon).toThrow(`[VD_ADDON] expected an addon that loads, got ${path}: `);
});
