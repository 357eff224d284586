import { spawnSync } from "node:child_process";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { kernelFlags } from "../../emulator/build.mjs";
import { canEmulate } from "./can-emulate";

const here = (path: string) => fileURLToPath(new URL(path, import.meta.url));

describe.skipIf(!canEmulate)("threads of the emulator (needs Linux on x64, nvcc and a C++ compiler)", () => {
  const folder = mkdtempSync(join(tmpdir(), "vd-emulator-"));
  const program = join(folder, "threads");
  beforeAll(() => {
    const sources = [here("threads.cc"), here("../../emulator/runtime/threads.cc")];
    const { status, stderr } = spawnSync(process.env.CXX ?? "g++", [...kernelFlags(), "-o", program, ...sources], {
      encoding: "utf8",
    });
    if (status !== 0) throw new Error(stderr);
  }, 120_000);
  afterAll(() => rmSync(folder, { recursive: true, force: true }));

  /** What a case of threads.cc prints. */
  const found = (name: string) => spawnSync(program, [name], { encoding: "utf8" }).stdout;

  test("wait for each other in a block, a warp and a cluster", () => {
    expect(found("barrier")).toBe(String((95 * 96) / 2));
    expect(found("threads that have ended")).toBe("40");
    expect(found("lanes")).toBe(String(9 + 5));
    expect(found("some lanes")).toBe("8");
    expect(found("cluster")).toBe("7");
  });

  test("see nothing that was not written", () => {
    // Ones in every bit, NaN as a float.
    expect(found("without a barrier")).toBe("4294967295");
  });

  test.each([
    [
      "a barrier that half of the threads reach",
      /^32 threads wait for ever, first thread 0 of block \(0, 0, 0\) for a barrier/,
    ],
    [
      "an mbarrier that nobody arrives at",
      /^32 threads wait for ever, first thread 0 of block \(0, 0, 0\) for an mbarrier$/,
    ],
    [
      "an mbarrier without a beginning",
      /^an mbarrier that was not initialised at shared address \d+, thread 0 of block/,
    ],
    ["a lane that is not there", /^a warp's instruction without the thread that runs it, thread 16 of block/],
    ["memory of others", /^shared address 1073741824 is outside the cluster's memory, thread 0 of block/],
  ])("end with a sentence: %s", (name, sentence) => {
    expect(found(name)).toMatch(sentence);
  });
});
