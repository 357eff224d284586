import { spawn } from "node:child_process";
import { once } from "node:events";
import { ROOT } from "../build/workspace.mjs";

/** Runs a program at the repository's root with this terminal. Resolves to its exit status, 1 for one that a signal ended. */
export async function runProgram(
  program: string,
  words: readonly string[],
  env: NodeJS.ProcessEnv = {},
): Promise<number> {
  const child = spawn(program, words, { cwd: ROOT, stdio: "inherit", env: { ...process.env, ...env } });
  const [status] = (await once(child, "close")) as [number | null];
  return status ?? 1;
}

/** Runs a script of the repository in Node.js; TypeScript too, with packages read from their sources. */
export function runScript(words: readonly string[], env: NodeJS.ProcessEnv = {}): Promise<number> {
  return runProgram(process.execPath, ["--import", "tsx", ...words], env);
}
