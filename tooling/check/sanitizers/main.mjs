// Runs the addon with the compiler's sanitizers: memory errors and undefined behaviour in the conformance suite, the
// fuzzer and the driver layer, data races in the classes that threads share. Behind `pnpm check:sanitizers`. Linux only.
import { spawn, spawnSync } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { parseArgs } from "node:util";
import { packageDir } from "../../build/addon/sources.mjs";
import { Failure, ROOT, runMain, seconds } from "../../build/workspace.mjs";
import { buildThreads, sanitizedAddon, shown } from "./build.mjs";
import { undetected } from "./self-test.mjs";

const usage = `Usage: pnpm check:sanitizers [--full]

  --full  the fuzzer at full length, 10,000 stopped workers and the goldens too`;

const VITEST = join(ROOT, "node_modules/vitest/vitest.mjs");
/** Calls and programs of the fuzzer. */
const FUZZ = { short: ["800", "600"], full: ["8000", "6000"] };
const FUZZ_SEED = "20240917";
/** Workers that are stopped inside calls, and how many are under way at a time. */
const TERMINATIONS = { short: ["200", "4"], full: ["10000", "4"] };

/** A step that runs Node.js with `env` and shows what it said once it has ended; resolves to true if it ended well. */
async function runNode(words, env) {
  const child = spawn(process.execPath, words, { cwd: ROOT, env: { ...process.env, ...env } });
  const said = [];
  for (const stream of [child.stdout, child.stderr]) stream.on("data", (part) => said.push(part));
  const [status, signal] = await once(child, "close");
  process.stdout.write(Buffer.concat(said));
  if (status !== 0) console.error(`node ${words.join(" ")} ended with ${signal ?? status}`);
  return status === 0;
}

/** Runs a program of the addon's tests in a process of its own; its first argument is the file that names the call under
 *  way. */
async function runProgram(name, args, env) {
  const folder = mkdtempSync(join(tmpdir(), "vd-sanitizers-"));
  const program = join(packageDir, "test", name);
  const words = ["--expose-gc", "--import", "tsx", program, join(folder, "journal.txt"), ...args];
  try {
    return await runNode(words, { ...env, TSX_TSCONFIG_PATH: join(packageDir, "tsconfig.json") });
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

/** What runs, by title: steps of one group beside each other, since each works on one thread most of the time. full:
 *  everything. */
function stepGroups(full) {
  const env = {};
  const vitest = (...words) => runNode([VITEST, "run", "--testTimeout=600000", "--reporter=default", ...words], env);
  const compile = async () => Object.assign(env, await sanitizedAddon());
  const driver = ["driver", "transfer"].map((name) => `packages/kernels-native/test/${name}.test.ts`);
  const always = [
    ["conformance suite", () => vitest("packages/tensor/test/ops.test.ts")],
    ["fuzzer", () => runProgram("addon-fuzz/main.ts", [...(full ? FUZZ.full : FUZZ.short), FUZZ_SEED], env)],
    ["stopped workers", () => runProgram("termination/main.ts", full ? TERMINATIONS.full : TERMINATIONS.short, env)],
    ["driver layer", () => vitest(...driver)],
  ];
  const goldens = ["goldens", () => runNode(["tooling/goldens/launch.mjs"], env)];
  return [
    [["the sanitizers report errors", reportsErrors]],
    [["threads without data races", async () => spawnSync(await buildThreads(), { stdio: "inherit" }).status === 0]],
    [["the addon compiles", compile]],
    full ? [...always, goldens] : always,
  ];
}

/** Runs a step and says how it ended; resolves to its title if it failed. */
async function runStep([title, step]) {
  const startMs = performance.now();
  const isRight = await step();
  console.log(`${isRight ? "ok" : "FAILED"}: ${title} (${seconds(startMs)})`);
  return isRight ? [] : [title];
}

await runMain("check:sanitizers", async () => {
  const args = process.argv.slice(2).filter((word) => word !== "--");
  const { values } = parseArgs({ args, options: { full: { type: "boolean" }, help: { type: "boolean" } } });
  if (values.help) return console.log(usage);
  if (process.platform !== "linux") throw new Failure(`expected Linux, got ${process.platform}`);
  const startMs = performance.now();
  const failed = [];
  for (const group of stepGroups(values.full)) failed.push(...(await Promise.all(group.map(runStep))).flat());
  console.log(
    `sanitizers: ${failed.length} failed, ${seconds(startMs)}, addon in ${shown(packageDir)}/build/sanitized`,
  );
  if (failed.length > 0) throw new Failure(`failed: ${failed.join(", ")}`);
});
