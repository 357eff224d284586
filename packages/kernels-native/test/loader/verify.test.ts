import { createHash } from "node:crypto";
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { isVdError } from "../../src/errors";
import { verifyBinaries } from "../../src/verify";

const sha256 = (text: string) => createHash("sha256").update(text).digest("hex");
let folder = "";

function write(name: string, text: string): void {
  writeFileSync(join(folder, name), text);
}

/** Writes the manifest of these files in a folder. */
function manifest(name: string, files: Record<string, string>): void {
  const entries = Object.entries(files).map(([file, text]) => [file, { bytes: text.length, sha256: sha256(text) }]);
  write(`${name}/manifest.json`, JSON.stringify({ format: 1, files: Object.fromEntries(entries) }));
}

/** Compares the binaries in the folder. */
const compare = () => verifyBinaries(join(folder, "linux-x64"), join(folder, "cuda"));

function refusal(): string {
  try {
    compare();
  } catch (error) {
    if (isVdError(error)) return `${error.code} ${error.message}`;
    throw error;
  }
  return "none";
}

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "vd verify "));
  for (const name of ["linux-x64", "cuda"]) mkdirSync(join(folder, name));
  write("linux-x64/vd-native.node", "addon");
  write("cuda/sm_80.fatbin", "device code");
  manifest("linux-x64", { "vd-native.node": "addon" });
  manifest("cuda", { "sm_80.fatbin": "device code" });
});
afterEach(() => rmSync(folder, { recursive: true, force: true }));

describe("binaries against the manifest", () => {
  test("without device code there is nothing to compare but the addon", () => {
    rmSync(join(folder, "cuda"), { recursive: true });
    expect(compare()).toHaveLength(1);
  });

  test("device code that the manifest has and the folder lacks", () => {
    manifest("cuda", { "sm_80.fatbin": "device code", "sm_90a.fatbin": "lost" });
    expect(refusal()).toMatch(/^io .*sm_90a\.fatbin\] expected a readable file/);
  });

  test("those of this machine and all device code are compared", () => {
    const paths = compare().map(({ path }) => path.slice(folder.length + 1).replaceAll("\\", "/"));
    expect(paths).toEqual(["linux-x64/vd-native.node", "cuda/sm_80.fatbin"]);
  });

  test("a changed addon, changed device code", () => {
    write("linux-x64/vd-native.node", "addoN");
    expect(refusal()).toMatch(/^io .*vd-native\.node\] expected SHA-256 .* \(5 bytes\), got .* \(5 bytes\)\. Install/);
    write("linux-x64/vd-native.node", "addon");
    write("cuda/sm_80.fatbin", "device code and more");
    expect(refusal()).toContain("sm_80.fatbin");
  });

  test("a binary that the manifest does not know, one that is gone", () => {
    write("cuda/sm_999.fatbin", "stranger");
    expect(refusal()).toContain("expected a binary that the manifest.json beside it names");
    rmSync(join(folder, "cuda/sm_999.fatbin"));
    write("cuda/compute_75.ptx", "text that the driver would compile");
    expect(refusal()).toContain("compute_75.ptx] expected a binary that the manifest.json beside it names");
    rmSync(join(folder, "cuda/compute_75.ptx"));
    rmSync(join(folder, "linux-x64/vd-native.node"));
    expect(refusal()).toContain("expected a readable file");
  });

  test.each(["", "{", "[]", '{"files":null}'])("a manifest that says %j", (text) => {
    write("linux-x64/manifest.json", text);
    expect(refusal()).toMatch(/^io .*manifest\.json\] expected the list of the folder's binaries/);
  });
});
