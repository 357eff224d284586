import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { expect, test } from "vitest";
import { ERROR_CODES } from "../contract/error-codes";

const program = fileURLToPath(new URL("addon-fuzz/main.ts", import.meta.url));
const tsconfig = fileURLToPath(new URL("../tsconfig.json", import.meta.url));

const numCalls = 8_000;
const numPrograms = 6_000;
const seed = 20_240_917;

interface Report {
  cases: number;
  compiled: number;
  ran: number;
  overwritten: number;
  stopped: number;
  endings: Record<"calls" | "programs" | "offsets" | "lifecycle", Record<string, number>>;
}

/** Runs the fuzzer in a process of its own; a crash is an error that shows the call under way. */
async function fuzz(): Promise<Report> {
  const folder = mkdtempSync(join(tmpdir(), "vd-fuzz-"));
  const journal = join(folder, "journal.txt");
  try {
    const args = [
      "--expose-gc",
      "--import",
      "tsx",
      program,
      journal,
      String(numCalls),
      String(numPrograms),
      String(seed),
    ];
    const env = { ...process.env, TSX_TSCONFIG_PATH: tsconfig };
    const child = spawn(process.execPath, args, { env, stdio: ["ignore", "pipe", "pipe"] });
    const output = { stdout: "", stderr: "" };
    child.stdout.on("data", (chunk) => {
      output.stdout += chunk;
    });
    child.stderr.on("data", (chunk) => {
      output.stderr += chunk;
    });
    const [status, signal] = (await once(child, "close")) as [number | null, string | null];
    if (status !== 0)
      throw new Error(
        `the process ended with ${signal ?? status} during:\n${readFileSync(journal, "utf8").slice(0, 4000)}\n${output.stderr.slice(-4000)}`,
      );
    return JSON.parse(output.stdout) as Report;
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

const sum = (counts: Record<string, number>) => Object.values(counts).reduce((total, count) => total + count, 0);

test("at least 10,000 calls with anything: typed errors or results, and the process lives", async () => {
  const { compiled, ran, overwritten, stopped, endings, cases } = await fuzz();
  const numEndings = Object.values(endings).reduce((total, counts) => total + sum(counts), 0);
  expect(numEndings).toBeGreaterThanOrEqual(10_000);
  expect(sum(endings.calls)).toBe(numCalls);
  expect(compiled).toBe(numPrograms);
  // Fuzzing that nothing gets through, or that breaks nothing, shows nothing.
  expect(cases).toBeGreaterThan(200);
  expect(ran).toBeGreaterThan(numPrograms / 10);
  expect(endings.calls.value).toBeGreaterThan(numCalls / 10);
  expect(Object.keys(endings.programs)).toEqual(expect.arrayContaining(["shape", "dtype", "layout", "attr", "value"]));
  expect([overwritten, stopped]).toEqual([8, 8]);
  // Besides the programs that were compiled, runs that began with good offsets.
  expect(endings.offsets.value).toBeGreaterThan(overwritten);
  const foreseen = [...Object.keys(ERROR_CODES), "value", "TypeError", "the caller's own"];
  expect(foreseen).toEqual(expect.arrayContaining(Object.values(endings).flatMap((counts) => Object.keys(counts))));
}, 120_000);
