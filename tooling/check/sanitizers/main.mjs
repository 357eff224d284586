// Runs the addon with the compiler's sanitizers: memory errors and undefined behaviour in the conformance suite, the
// fuzzer and the driver layer, data races in the classes that threads share. Behind `pnpm check:sanitizers`. Linux only.
import { spawnSync } from "node:child_process";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { parseArgs } from "node:util";
import { packageDir } from "../../build/addon/sources.mjs";
import { Failure, ROOT, runMain, seconds } from "../../build/workspace.mjs";
import { buildThreads, sanitizedAddon, shown } from "./build.mjs";
import { undetected } from "./self-test.mjs";

const usage = `Usage: pnpm check:sanitizers [--full]

  --full  the fuzzer at full length, 10,000 stopped workers, the loader's scenarios and the goldens too`;

const VITEST = join(ROOT, "node_modules/vitest/vitest.mjs");
/** Calls and programs of the fuzzer. */
const FUZZ = { short: ["800", "600"], full: ["8000", "6000"] };
const FUZZ_SEED = "20240917";
/** Workers that are stopped inside calls, and how many are under way at a time. */
const TERMINATIONS = { short: ["200", "4"], full: ["10000", "4"] };

/** A step that runs Node.js with `env`; true if it ended well. */
function runNode(words, env) {
  const { status, signal } = spawnSync(process.execPath, words, {
    cwd: ROOT,
    stdio: "inherit",
    env: { ...process.env, ...env },
  });
  if (status !== 0) console.error(`node ${words.join(" ")} ended with ${signal ?? status}`);
  return status === 0;
}

/** Runs a program of the addon's tests in a process of its own; its first argument is the file that names the call under
 *  way. */
function runProgram(name, args, env) {
  const folder = mkdtempSync(join(tmpdir(), "vd-sanitizers-"));
  const program = join(packageDir, "test", name);
  const words = ["--expose-gc", "--import", "tsx", program, join(folder, "journal.txt"), ...args];
  try {
    return runNode(words, { ...env, TSX_TSCONFIG_PATH: join(packageDir, "tsconfig.json") });
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

/** Whether the sanitizers report what they are there for. */
async function reportsErrors() {
  const faults = await undetected();
  for (const fault of faults) console.error(fault);
  return faults.length === 0;
}

/** What runs, by title. full: everything. */
function steps(full) {
  const env = {};
  const vitest = (...words) => runNode([VITEST, "run", "--testTimeout=600000", "--reporter=default", ...words], env);
  const compile = async () => Object.assign(env, await sanitizedAddon());
  const driver = ["driver", "transfer"].map((name) => `packages/kernels-native/test/${name}.test.ts`);
  const always = [
    ["the sanitizers report errors", reportsErrors],
    ["threads without data races", async () => spawnSync(await buildThreads(), { stdio: "inherit" }).status === 0],
    ["the addon compiles", compile],
    ["conformance suite", () => vitest("packages/tensor/test/ops.test.ts")],
    ["fuzzer", () => runProgram("addon-fuzz/main.ts", [...(full ? FUZZ.full : FUZZ.short), FUZZ_SEED], env)],
    ["stopped workers", () => runProgram("termination/main.ts", full ? TERMINATIONS.full : TERMINATIONS.short, env)],
    ["driver layer", () => vitest(...driver)],
  ];
  const more = [
    ["loader", () => vitest("tooling/test/distribution/loader.test.ts", "-t", "workers|exits|reload")],
    ["goldens", () => runNode(["tooling/goldens/launch.mjs"], env)],
  ];
  return full ? [...always, ...more] : always;
}

await runMain("check:sanitizers", async () => {
  const args = process.argv.slice(2).filter((word) => word !== "--");
  const { values } = parseArgs({ args, options: { full: { type: "boolean" }, help: { type: "boolean" } } });
  if (values.help) return console.log(usage);
  if (process.platform !== "linux") throw new Failure(`expected Linux, got ${process.platform}`);
  const startMs = performance.now();
  const failed = [];
  for (const [title, step] of steps(values.full)) {
    const stepMs = performance.now();
    const isRight = await step();
    if (!isRight) failed.push(title);
    console.log(`${isRight ? "ok" : "FAILED"}: ${title} (${seconds(stepMs)})`);
  }
  console.log(
    `sanitizers: ${failed.length} failed, ${seconds(startMs)}, addon in ${shown(packageDir)}/build/sanitized`,
  );
  if (failed.length > 0) throw new Failure(`failed: ${failed.join(", ")}`);
});
