import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { onTestFinished } from "vitest";

/** A folder that goes away with the test. */
export function temporaryFolder(): string {
  const dir = mkdtempSync(join(tmpdir(), "vd-tensorrt-test-"));
  onTestFinished(() => rmSync(dir, { recursive: true, force: true }));
  return dir;
}

/** A folder that the caller removes, for set-up before all tests of a file. */
export const folderForAll = (): string => mkdtempSync(join(tmpdir(), "vd-tensorrt-test-"));
