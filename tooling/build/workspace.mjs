// Installs and builds what is missing or stale, with readable progress. Plain Node without dependencies: it runs before
// anything is installed. Shared by demo.mjs and test.mjs.
import { spawn, spawnSync } from "node:child_process";
import { existsSync, readFileSync } from "node:fs";
import { basename, dirname, join } from "node:path";
import { fileURLToPath } from "node:url";

/** The repository. */
export const ROOT = join(dirname(fileURLToPath(import.meta.url)), "../..");
const PNPM_VERSION = "10.34.9";
const LEAST_NODE = [20, 19];
const HEARTBEAT_MS = 15_000;
/** Exit status of a command that the user stopped. */
export const CANCELLED_STATUS = 130;

/** An end with a sentence for the user instead of a stack. */
export class Failure extends Error {
  constructor(message, status = 1) {
    super(message);
    this.status = status;
  }
}

function checkNode() {
  const [major, minor] = process.versions.node.split(".").map(Number);
  if (major > LEAST_NODE[0] || (major === LEAST_NODE[0] && minor >= LEAST_NODE[1])) return;
  throw new Failure(
    `expected Node.js ${LEAST_NODE.join(".")} or newer, got ${process.versions.node}. Install a newer one from https://nodejs.org.`,
  );
}

/** A checkout has no compiled addon: it is built once, from source, and needs a compiler for that. */
function checkCompiler() {
  const addon = join(
    ROOT,
    "packages/kernels-native/prebuilds",
    `${process.platform}-${process.arch}`,
    "vd-native.node",
  );
  if (existsSync(addon)) return;
  const compiler = process.env.CXX ?? "g++";
  const probe = spawnSync(compiler, ["--version"], { stdio: "ignore" });
  if (probe.status === 0) return;
  throw new Failure(
    `expected a C++20 compiler (${compiler}) to build the addon, got none that runs. Install one, then try again:\n` +
      "  Debian, Ubuntu   apt-get install build-essential\n" +
      "  Fedora           dnf install gcc-c++\n" +
      "  Alpine           apk add g++\n" +
      "  macOS            xcode-select --install\n" +
      "or set CXX to the compiler you have.",
  );
}

/** The pnpm that started this script, or the pinned one by npx. */
export function pnpmCommand() {
  const path = process.env.npm_execpath ?? "";
  const windowsShell = process.platform === "win32";
  if (!/^pnpm/.test(basename(path))) {
    return { program: "npx", words: ["-y", `pnpm@${PNPM_VERSION}`], shell: windowsShell };
  }
  if (/\.[cm]?js$/.test(path)) return { program: process.execPath, words: [path], shell: false };
  return { program: path, words: [], shell: false };
}

/** pnpm keeps a copy of the lockfile of what it installed. */
function isInstalled() {
  const [wanted, installed] = [join(ROOT, "pnpm-lock.yaml"), join(ROOT, "node_modules/.pnpm/lock.yaml")];
  const links = join(ROOT, "apps/generate/node_modules/@vd/svd-pipeline");
  return existsSync(installed) && existsSync(links) && readFileSync(wanted).equals(readFileSync(installed));
}

/** Time since then, to read. */
export function seconds(sinceMs) {
  return `${((performance.now() - sinceMs) / 1000).toFixed(1)} s`;
}

/** Runs pnpm quietly, with a sign of life now and then; shows what it said only if it fails. */
async function runPnpm(title, words, hint) {
  const startMs = performance.now();
  console.log(`${title} ...`);
  const { program, words: first, shell } = pnpmCommand();
  const child = spawn(program, [...first, ...words], {
    cwd: ROOT,
    shell,
    stdio: ["ignore", "pipe", "pipe"],
    env: { ...process.env, CI: "true", TURBO_TELEMETRY_DISABLED: "1" },
  });
  let said = "";
  for (const stream of [child.stdout, child.stderr]) {
    stream.on("data", (chunk) => {
      said += chunk;
    });
  }
  const heartbeat = setInterval(() => console.log(`  still at it after ${seconds(startMs)}`), HEARTBEAT_MS);
  const { status, signal } = await ended(child).finally(() => clearInterval(heartbeat));
  if (status === 0) {
    console.log(`  done in ${seconds(startMs)}`);
    return;
  }
  if (signal === "SIGINT" || signal === "SIGTERM" || status === CANCELLED_STATUS) {
    throw new Failure("stopped.", CANCELLED_STATUS);
  }
  console.error(said.trimEnd());
  throw new Failure(`"pnpm ${words.join(" ")}" failed, see above. ${hint}`);
}

/** The children that run now. */
const running = new Set();

/** Ctrl-C reaches the children by itself, and a second one means "at once" to them; SIGTERM has to be handed on. Returns
 *  what ends this. */
export function handOnSignals() {
  const onInterrupt = () => {};
  const onTerminate = () => {
    for (const child of running) child.kill("SIGTERM");
  };
  process.on("SIGINT", onInterrupt);
  process.on("SIGTERM", onTerminate);
  return () => {
    process.off("SIGINT", onInterrupt);
    process.off("SIGTERM", onTerminate);
  };
}

/** Waits for a child to end. */
export function ended(child) {
  running.add(child);
  return new Promise((settle, reject) => {
    child.once("error", (error) => reject(new Failure(`${child.spawnfile} does not start: ${error.message}.`)));
    child.once("close", (status, signal) => {
      running.delete(child);
      settle({ status, signal });
    });
  });
}

/** Makes sure that packages are installed and that `filter` (a turbo filter; default all) is built from these sources. */
export async function prepareWorkspace(filter) {
  checkNode();
  checkCompiler();
  if (!isInstalled()) {
    const hint = "Check the network, or the registry in .npmrc.";
    await runPnpm("Installing packages and compiling the addon", ["install", "--frozen-lockfile"], hint);
  }
  // turbo knows by content what is stale: with everything fresh this takes about a second.
  const build = ["exec", "turbo", "run", "build", "--output-logs=errors-only", "--ui=stream"];
  const words = filter ? [...build, `--filter=${filter}`] : build;
  await runPnpm("Building", words, "If the sources are unchanged, please report this.");
}

/** Runs `main`; a Failure becomes a sentence and the exit status. name: the command's, for the sentence. */
export async function runMain(name, main) {
  try {
    await main();
  } catch (error) {
    if (!(error instanceof Failure)) throw error;
    console.error(`${name}: ${error.message}`);
    process.exitCode = error.status;
  }
}
