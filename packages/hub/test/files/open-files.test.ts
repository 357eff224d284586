import { appendFileSync, renameSync, rmSync, truncateSync, utimesSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { failureOf } from "../../../../tooling/testing/failure";
import { temporaryFolder } from "../../../../tooling/testing/temporary-folder";
import { checkUnchanged, recordFiles } from "../../src/files/open-files";

describe("checkUnchanged", () => {
  const fileOf = (name = "weights") => {
    const path = join(temporaryFolder(), name);
    writeFileSync(path, "1234567890");
    return { path, files: recordFiles([path]) };
  };

  it("lets pass files that are as they were, gone, or replaced", () => {
    const { path, files } = fileOf();
    checkUnchanged(files);
    writeFileSync(`${path}.new`, "other");
    renameSync(`${path}.new`, path);
    checkUnchanged(files);
    rmSync(path);
    checkUnchanged(files);
    expect(recordFiles([path])).toEqual([]);
  });

  it("refuses files that were cut off, written to or touched, with their names", async () => {
    for (const [change, got] of [
      [(path: string) => truncateSync(path, 3), "3 bytes"],
      [(path: string) => appendFileSync(path, "x"), "11 bytes"],
      [(path: string) => utimesSync(path, 1e9, 1e9), "newer contents"],
    ] as const) {
      const { path, files } = fileOf();
      change(path);
      const error = await failureOf(() => checkUnchanged(files));
      expect([error.code, error.where, error.got]).toEqual(["io", path, got]);
      expect(error.hint).toContain("open the model again");
    }
  });
});
