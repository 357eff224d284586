// Every check of the repository, one after the other, with a count at the end. Behind `pnpm test`.
// Words on the command line go to vitest alone: `pnpm test -t group_norm` runs those tests and nothing else.
import { spawn } from "node:child_process";
import { existsSync, mkdirSync, readFileSync, rmSync } from "node:fs";
import { createRequire } from "node:module";
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

/** Runs a script of ours, or pnpm where the first word says so; true if it ended well. */
async function run([first, ...rest]) {
  const pnpm = pnpmCommand();
  const isPnpm = first === "pnpm";
  const [program, words] = isPnpm ? [pnpm.program, [...pnpm.words, ...rest]] : [process.execPath, [first, ...rest]];
  const env = { ...process.env, TURBO_TELEMETRY_DISABLED: "1" };
  const child = spawn(program, words, { cwd: ROOT, stdio: "inherit", env, shell: isPnpm && pnpm.shell });
  const { status, signal } = await ended(child);
  if (signal === "SIGINT" || signal === "SIGTERM" || status === CANCELLED_STATUS) {
    throw new Failure("stopped.", CANCELLED_STATUS);
  }
  return status === 0;
}

/** Checks beside the tests; each counts as one. A function, since what it names is installed by then and not before. */
const checks = () => [
  ["generated files are fresh", ["--import", "tsx", "tooling/generate/main.ts", "--check"]],
  ["imports and includes go down the layers", ["--import", "tsx", "tooling/check/layers/main.ts"]],
  ["lint and format", [binary("@biomejs/biome", "bin/biome"), "check", "."]],
  ["format of C++ and CUDA", ["tooling/check/format-cpp.mjs", "--check"]],
  ["types", [binary("typescript", "bin/tsc"), "-p", "tsconfig.json"]],
  ["goldens", ["tooling/goldens/launch.mjs"]],
];

async function runChecks(counts) {
  for (const [title, words] of checks()) {
    const startMs = performance.now();
    console.log(`\n== ${title}`);
    const ok = await run(words);
    counts[ok ? "passed" : "failed"]++;
    console.log(`${ok ? "ok" : "FAILED"}: ${title} (${seconds(startMs)})`);
  }
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
