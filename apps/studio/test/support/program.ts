import { run } from "../../src/run";

// The program as a process of its own, from its sources, for tests that kill it: `program.ts WORKER_PROGRAM WORDS...`
const [path = "", ...words] = process.argv.slice(2);
const controller = new AbortController();
for (const name of ["SIGINT", "SIGTERM"] as const) process.on(name, () => controller.abort());
process.exitCode = await run(words, {
  ...{ stdout: process.stdout, stderr: process.stderr, signal: controller.signal, version: "0.0.0" },
  ...{ program: { path }, page: undefined, openBrowser: async () => {} },
});
