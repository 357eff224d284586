// Runs a command with a GPU that is emulated: every kernel there is, on the CPU. Behind `pnpm emulate`.
import { spawn } from "node:child_process";
import { Failure } from "../build/workspace.mjs";
import { buildEmulator, emulatedOps } from "./build.mjs";

const usage = `Usage: pnpm emulate COMMAND [ARGUMENT...]

Compiles the kernels of all ops for the CPU (minutes, the first time), then runs the command, for which there is one GPU, an H100 by
its capability.

  pnpm emulate pnpm goldens fixtures/unet --device cuda --dtype float16`;

/** Runs the command line. Resolves to the exit status. */
async function run([command, ...words]) {
  if (command === undefined || command === "--help") {
    console.log(usage);
    return command === undefined ? 2 : 0;
  }
  const { env, remove } = await buildEmulator(emulatedOps());
  const stop = () => {}; // The command hears of it, too, and ends.
  process.on("SIGINT", stop);
  try {
    return await new Promise((resolve, reject) => {
      const child = spawn(command, words, { stdio: "inherit", env: { ...process.env, ...env } });
      child.on("error", (error) => reject(new Failure(`expected a command, got ${command}: ${error.message}`, 2)));
      child.on("close", (status) => resolve(status ?? 1));
    });
  } finally {
    remove();
  }
}

try {
  process.exitCode = await run(process.argv.slice(2));
} catch (error) {
  if (!(error instanceof Failure)) throw error;
  console.error(`emulate: ${error.message}`);
  process.exitCode = error.status;
}
