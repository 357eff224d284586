import { chmodSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, describe, expect, test } from "vitest";
import { compileAll } from "../../../build/addon/objects.mjs";

const folder = mkdtempSync(join(tmpdir(), "vd objects "));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

const log = join(folder, "calls");
const compiler = join(folder, "compiler");
/** Writes what it is asked to write, and says with which words; it knows no source named broken. */
writeFileSync(
  compiler,
  `#!/bin/sh
echo "$*" >> "${log}"
while [ $# -gt 1 ]; do
  case "$1" in
    -o) touch "$2" ;;
    -MF) echo "object: " > "$2" ;;
    *broken.cc) exit 1 ;;
  esac
  shift
done
`,
);
chmodSync(compiler, 0o755);
const sources = ["one.cc", "two.cc", "loops_avx512.cc"].map((name) => join(folder, name));
for (const source of sources) writeFileSync(source, "");

/** The calls of the compiler for these sources. */
async function callsFor(names: readonly string[], precompiles: boolean, objects: string): Promise<string[]> {
  writeFileSync(log, "");
  const tools = { arch: "x64", compiler, flags: ["-O3"], precompiles };
  await compileAll(names, tools, join(folder, objects));
  return readFileSync(log, "utf8").trim().split("\n").filter(Boolean);
}

describe.skipIf(process.platform === "win32")("precompiled headers", () => {
  test("are made once, for the sources without flags of their own, and removed", async () => {
    const calls = await callsFor(sources, true, "a");
    const made = calls.filter((words) => words.includes("-x c++-header"));
    expect(made).toHaveLength(1);
    expect(made[0]).toMatch(/^-O3 .*standard\.\d+\.h\.gch$/);
    const using = calls.filter((words) => words.includes("-include"));
    expect(using.map((words) => /(\w+)\.cc/.exec(words)![1]).sort()).toEqual(["one", "two"]);
    expect(calls).toHaveLength(4);
    expect(readdirSync(join(folder, "a")).filter((name) => name.startsWith("standard."))).toEqual([]);
  });

  test("are not made where nothing is compiled, nor for a compiler that may not take them", async () => {
    await callsFor(sources, true, "b");
    expect(await callsFor(sources, true, "b")).toEqual([]);
    const calls = await callsFor(sources, false, "c");
    expect(calls).toHaveLength(3);
    expect(calls.filter((words) => words.includes("-include"))).toEqual([]);
  });

  test("are removed after a source that does not compile", async () => {
    const broken = join(folder, "broken.cc");
    await expect(callsFor([broken], true, "d")).rejects.toThrow(`${broken}: the compiler ended with 1`);
    expect(readdirSync(join(folder, "d")).filter((name) => name.startsWith("standard."))).toEqual([]);
  });
});
