// Every check of the repository, one after the other, with a count at the end. Behind `pnpm test`.
// Words on the command line go to vitest alone: `pnpm test -t group_norm` runs those tests and nothing else.
import { spawn } from "node:child_process";
import { existsSync, mkdirSync, readFileSync, rmSync } from "node:fs";
import { createRequire } from "node:module";
import { availableParallelism } from "node:os";
import { join } from "node:path";
import {
  CANCELLED_STATUS,
  ended,
  Failure,
  handOnSignals,
  pnpmCommand,
  prepareWorkspace,
  ROOT,
  runMain,
  seconds,
} from "./build/workspace.mjs";

const require = createRequire(join(ROOT, "package.json"));
const binary = (name, file) => join(require.resolve(`${name}/package.json`), "..", file);
const RESULTS = join(ROOT, "build/test-results.json");

/** Runs a script of ours, or pnpm where the first word says so; true if it ended well. heard: takes what it prints, which else goes
 *  on. */
async function run([first, ...rest], heard) {
  const pnpm = pnpmCommand();
  const isPnpm = first === "pnpm";
  const [program, words] = isPnpm ? [pnpm.program, [...pnpm.words, ...rest]] : [process.execPath, [first, ...rest]];
  const env = { ...process.env, TURBO_TELEMETRY_DISABLED: "1" };
  const stdio = heard ? ["ignore", "pipe", "pipe"] : "inherit";
  const child = spawn(program, words, { cwd: ROOT, stdio, env, shell: isPnpm && pnpm.shell });
  if (heard) for (const stream of [child.stdout, child.stderr]) stream.on("data", heard);
  const { status, signal } = await ended(child);
  if (signal === "SIGINT" || signal === "SIGTERM" || status === CANCELLED_STATUS) {
    throw new Failure("stopped.", CANCELLED_STATUS);
  }
  return status === 0;
}

/** Checks beside the tests, the longest first; each counts as one. A function, since what it names is installed by then and not before. */
const checks = () => [
  ["types", [binary("typescript", "bin/tsc"), "-p", "tsconfig.json"]],
  ["goldens", ["tooling/goldens/launch.mjs"]],
  ["generated files are fresh", ["--import", "tsx", "tooling/generate/main.ts", "--check"]],
  ["lint and format", [binary("@biomejs/biome", "bin/biome"), "check", "."]],
  ["imports and includes go down the layers", ["--import", "tsx", "tooling/check/layers/main.ts"]],
  ["format of C++ and CUDA", ["tooling/check/format-cpp.mjs", "--check"]],
];

/** Runs the checks, as many at a time as keep the processor busy: most of them have one thread. What one prints stands together. */
async function runChecks(counts) {
  const waiting = checks();
  const work = async () => {
    for (let next = waiting.shift(); next; next = waiting.shift()) {
      const [title, words] = next;
      const startMs = performance.now();
      const printed = [];
      const ok = await run(words, (part) => printed.push(part));
      counts[ok ? "passed" : "failed"]++;
      console.log(`\n== ${title}\n${Buffer.concat(printed)}${ok ? "ok" : "FAILED"}: ${title} (${seconds(startMs)})`);
    }
  };
  await Promise.all(Array.from({ length: Math.min(2, availableParallelism()) }, work));
}

async function runTests(counts, words) {
  mkdirSync(join(ROOT, "build"), { recursive: true });
  rmSync(RESULTS, { force: true });
  const vitest = binary("vitest", "vitest.mjs");
  const reporters = ["--reporter=default", "--reporter=json", `--outputFile.json=${RESULTS}`];
  const ok = await run([vitest, "run", ...reporters, ...words]);
  if (!existsSync(RESULTS)) throw new Failure("vitest ended without results, see above.");
  const results = JSON.parse(readFileSync(RESULTS, "utf8"));
  counts.passed += results.numPassedTests;
  counts.failed += results.numFailedTests;
  counts.skipped += results.numPendingTests + (results.numTodoTests ?? 0);
  // A file that does not load has no tests that could fail.
  if (!ok && results.numFailedTests === 0) counts.failed++;
}

await runMain("test", async () => {
  const startMs = performance.now();
  handOnSignals();
  await prepareWorkspace();
  const words = process.argv.slice(2).filter((word) => word !== "--");
  const counts = { passed: 0, failed: 0, skipped: 0 };
  if (words.length === 0) await runChecks(counts);
  await runTests(counts, words);
  console.log(`\nAll checks took ${seconds(startMs)}.`);
  console.log(`${counts.passed} passed, ${counts.failed} failed, ${counts.skipped} skipped`);
  if (counts.failed > 0) process.exitCode = 1;
});
