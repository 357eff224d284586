import { run } from "../../src/run";
import { WORKER_PROGRAM } from "./harness";

// The program as a process of its own, from its sources, for tests that kill it.
const controller = new AbortController();
for (const name of ["SIGINT", "SIGTERM"] as const) process.on(name, () => controller.abort());
process.exitCode = await run(process.argv.slice(2), {
  ...{ stdout: process.stdout, stderr: process.stderr, signal: controller.signal, version: "0.0.0" },
  ...{ program: WORKER_PROGRAM, page: undefined, openBrowser: async () => {} },
});
