import { spawnSync } from "node:child_process";
import { fileURLToPath } from "node:url";
import { expect, it } from "vitest";
import { bundledProgram } from "../../testing/program";

const source = fileURLToPath(new URL("../../kernel/main.ts", import.meta.url));
const program = await bundledProgram(source);
const kernel = (...words: string[]) => spawnSync(process.execPath, [program, ...words], { encoding: "utf8" });

it.each(["constructor", "__proto__", "toString"])("%s, which every object has, is no command", (word) => {
  const { status, stderr } = kernel(word);
  expect(stderr).toContain(`kernel: expected one of list, show, test, bench, new, got "${word}"`);
  expect(status).toBe(2);
});

it("prints its help where bench is asked for it without an op", () => {
  const { status, stdout, stderr } = kernel("bench", "--help");
  expect(stdout).toContain("Usage: pnpm kernel COMMAND");
  expect([status, stderr]).toEqual([0, ""]);
});

it.each([
  [["--op", "conv"], "conv"],
  [["--op=conv", "--ncu"], "conv"],
  [["--ncu", "--op"], ""],
])("refuses another op beside the one that bench times: %j", (words, other) => {
  const { status, stdout, stderr } = kernel("bench", "pool", ...words);
  const got = `--op ${other}`.trim();
  expect(stderr).toContain(`kernel: [kernel bench] expected no --op beside the name of an op, pool, got ${got}.`);
  expect([status, stdout]).toEqual([2, ""]);
});

it.skipIf(process.platform === "win32")("says nothing of a reader that stops early", () => {
  // As `pnpm kernel` starts it: a bundle ends before it hears that nobody reads.
  const words = ["-c", '"$0" --import tsx "$1" list | true', process.execPath, source];
  const { stderr } = spawnSync("sh", words, {
    encoding: "utf8",
    cwd: fileURLToPath(new URL("../../..", import.meta.url)),
  });
  expect(stderr).toBe("");
});
