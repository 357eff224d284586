import { existsSync } from "node:fs";
import { run } from "./run";

const STOPPED_STATUS = 130;

/** Runs the command line of this process and sets its exit status. here: the folder of the built program, which has the worker and the page. */
export async function main(argv: readonly string[], version: string, here: (name: string) => string): Promise<void> {
  const controller = new AbortController();
  const onSignal = () => {
    // The second one does not wait: the queue is durable.
    if (controller.signal.aborted) process.exit(STOPPED_STATUS);
    controller.abort();
  };
  for (const name of ["SIGINT", "SIGTERM", "SIGHUP"] as const) process.on(name, onSignal);
  const page = here("web");
  process.exitCode = await run(argv, {
    ...{ stdout: process.stdout, stderr: process.stderr, signal: controller.signal, version, openBrowser },
    ...{ program: { path: here("worker.js") }, page: existsSync(page) ? page : undefined },
  });
}

async function openBrowser(url: string): Promise<void> {
  const { default: open } = await import("open");
  const child = await open(url);
  // Without a desktop there is nothing to open it with; the address is printed.
  child.on("error", () => {});
}
