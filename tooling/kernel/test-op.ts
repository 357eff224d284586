import { spawnSync } from "node:child_process";
import { devices, type OpId } from "@vd/kernels-native";
import { Failure } from "../build/workspace.mjs";
import { sanitizedAddon } from "../check/sanitizers/build.mjs";
import { buildEmulator, requireEmulator } from "../emulator/build.mjs";
import type { TypedWords } from "./options";
import { runProgram, runScript } from "./run-program";

const BUILD_ADDON = "tooling/build/addon/main.mjs";
/** On every CPU path: one line of JSON. */
const ON_CPU = "tooling/check/conformance.ts";
/** On a GPU: a line per failure. */
const ON_GPU = "tooling/gpu/programs/conformance.ts";
/** Elements of the largest operand that compute-sanitizer goes through in about a minute. */
const MOST_SANITIZED = "6000";
/** The same of those that the emulator goes through in seconds. */
const MOST_EMULATED = "100000";

async function allWell(steps: readonly (() => Promise<number>)[]): Promise<number> {
  for (const step of steps) {
    const status = await step();
    if (status !== 0) return status;
  }
  return 0;
}

async function underSanitizers(id: OpId): Promise<number> {
  if (process.platform !== "linux") throw new Failure(`--validate: expected Linux, got ${process.platform}`);
  return runScript([ON_CPU, id], (await sanitizedAddon()) as NodeJS.ProcessEnv);
}

/** Says in a sentence why there is no GPU to test on, before anything is compiled. */
function requireGpu(): void {
  const gpus = devices().filter(({ kind }) => kind === "cuda");
  if (gpus.some(({ usable }) => usable)) return;
  throw new Failure(`--device cuda: expected a usable GPU, got none: ${gpus.map(({ reason }) => reason).join(" ")}`);
}

function underComputeSanitizer(id: OpId, tool: string): Promise<number> {
  if (spawnSync("compute-sanitizer", ["--version"], { stdio: "ignore" }).status !== 0)
    throw new Failure("--validate: expected compute-sanitizer of the CUDA toolkit on the PATH, got none");
  const tested = ["--import", "tsx", ON_GPU, "--op", id, "--all", "--most", MOST_SANITIZED];
  return runProgram("compute-sanitizer", ["--tool", tool, "--error-exitcode", "9", process.execPath, ...tested]);
}

/** Runs every kernel that could run a case on a GPU that is emulated. */
async function onEmulator(id: OpId, architecture?: string): Promise<number> {
  const { env, remove } = await buildEmulator([id], architecture);
  try {
    return await runScript([ON_GPU, "--op", id, "--all", "--most", MOST_EMULATED], env);
  } finally {
    remove();
  }
}

/** Runs every case of an op, after compiling what changed. On the CPU: on every instruction set against the definition, and the
 *  definition against float64; on a GPU, also one that is emulated: every kernel that could run a case. Returns the exit status. */
export async function testOp(
  id: OpId,
  { device, architecture, validate = false }: TypedWords["values"],
): Promise<number> {
  const build = () => runProgram(process.execPath, [BUILD_ADDON]);
  if (device === "emulated") {
    if (validate) throw new Failure("--validate: expected --device cpu or cuda, got emulated");
    requireEmulator();
    return allWell([build, () => onEmulator(id, architecture)]);
  }
  if (architecture !== undefined) throw new Failure("--architecture: expected --device emulated beside it");
  if (device !== "cuda")
    return allWell([build, () => runScript([ON_CPU, id]), ...(validate ? [() => underSanitizers(id)] : [])]);
  requireGpu();
  const tools = validate ? ["memcheck", "racecheck"] : [];
  return allWell([
    ...[build, () => runScript([ON_GPU, "--op", id, "--all"])],
    ...tools.map((tool) => () => underComputeSanitizer(id, tool)),
  ]);
}
