import { existsSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, it } from "vitest";
import { temporaryFolder } from "../../../../tooling/testing/temporary-folder";
import { makeFolder } from "../../src/files";

it("makes a folder with those above it, also several times at once", async () => {
  const path = join(temporaryFolder(), "a", "b", "c");
  await Promise.all([makeFolder(path), makeFolder(path), makeFolder(join(path, "d"))]);
  await makeFolder(path);
  expect(statSync(join(path, "d")).isDirectory()).toBe(true);
});

it("is not misled by another that makes the parent in the same moment", async () => {
  for (let round = 0; round < 20; round++) {
    const path = join(temporaryFolder(), "a", "b");
    await Promise.all(Array.from({ length: 8 }, (_, i) => makeFolder(join(path, String(i)))));
    expect(existsSync(join(path, "7"))).toBe(true);
  }
});

it("refuses a path through a file, and a file of the name", async () => {
  const file = join(temporaryFolder(), "file");
  writeFileSync(file, "");
  await expect(makeFolder(join(file, "x"))).rejects.toMatchObject({ code: "ENOTDIR" });
  await expect(makeFolder(file)).rejects.toMatchObject({ code: "EEXIST" });
});

it.runIf(existsSync("/proc/self"))("ends where a folder takes no folders", async () => {
  await expect(makeFolder("/proc/x")).rejects.toMatchObject({ syscall: "mkdir" });
  await expect(makeFolder("/proc/x/y/z")).rejects.toMatchObject({ syscall: "mkdir" });
});
