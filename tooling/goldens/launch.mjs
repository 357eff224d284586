// Runs tooling/goldens/main.ts from the sources: no build is needed first. Behind `pnpm goldens`.
import { spawn } from "node:child_process";
import { fileURLToPath } from "node:url";

const here = (path) => fileURLToPath(new URL(path, import.meta.url));

// A package manager starts scripts in the root, and keeps the folder where the user stands in INIT_CWD.
const startedByScript = process.env.npm_lifecycle_event === "goldens" && process.env.INIT_CWD;
const child = spawn(
  process.execPath,
  ["--import", import.meta.resolve("tsx"), here("main.ts"), ...process.argv.slice(2)],
  {
    cwd: startedByScript || process.cwd(),
    env: { ...process.env, TSX_TSCONFIG_PATH: here("../../tsconfig.json") },
    stdio: "inherit",
  },
);
child.on("error", (error) => {
  console.error(`goldens: Node could not be started: ${error.message}`);
  process.exitCode = 1;
});
child.on("exit", (code, signal) => {
  if (signal) console.error(`goldens: stopped by ${signal}`);
  process.exitCode = code ?? 1;
});
