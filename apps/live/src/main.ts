import { readFile } from "node:fs/promises";
import { watchOutputs } from "@vd/app-parts";
import { createLiveSession, createLiveSessions, drift } from "@vd/live";
import { discardAll } from "@vd/tensor";
import { run, STATUS } from "./run";

/** Runs the command line of this process and sets its exit status. page: where the page is, an HTML file. */
export async function main(argv: readonly string[], version: string, page: URL): Promise<void> {
  const lost = watchOutputs(process, "Make room, or name a file by --record", () => {
    process.exitCode = STATUS.failed;
  });
  const controller = new AbortController();
  const onSignal = () => {
    // The second one does not wait for the recording.
    if (controller.signal.aborted) {
      discardAll();
      process.exit(STATUS.stopped);
    }
    controller.abort();
  };
  for (const name of ["SIGINT", "SIGTERM", "SIGHUP"] as const) process.on(name, onSignal);
  const status = await run(argv, {
    ...{ stdout: process.stdout, stderr: process.stderr, signal: controller.signal, version },
    ...{ openSession: createLiveSession, openSessions: createLiveSessions, measureDrift: drift, openBrowser },
    readPage: () => readFile(page, "utf8"),
  });
  process.exitCode = status === STATUS.done && lost.isTold ? STATUS.failed : status;
}

async function openBrowser(url: string): Promise<void> {
  const { default: open } = await import("open");
  const child = await open(url);
  // Without a desktop there is nothing to open it with; the address is printed.
  child.on("error", () => {});
}
