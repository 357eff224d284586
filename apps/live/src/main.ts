import { readFile } from "node:fs/promises";
import { createLiveSession, createLiveSessions, drift } from "@vd/live";
import { discardAll } from "@vd/tensor";
import { run } from "./run";

const STOPPED_STATUS = 130;

/** Runs the command line of this process and sets its exit status. page: where the page is, an HTML file. */
export async function main(argv: readonly string[], version: string, page: URL): Promise<void> {
  // A reader that stops early (`vd-live -o - | head`) is no failure of ours.
  for (const stream of [process.stdout, process.stderr])
    stream.on("error", (error: NodeJS.ErrnoException) => {
      if (error.code !== "EPIPE") throw error;
    });
  const controller = new AbortController();
  const onSignal = () => {
    // The second one does not wait for the recording.
    if (controller.signal.aborted) {
      discardAll();
      process.exit(STOPPED_STATUS);
    }
    controller.abort();
  };
  for (const name of ["SIGINT", "SIGTERM", "SIGHUP"] as const) process.on(name, onSignal);
  process.exitCode = await run(argv, {
    ...{ stdout: process.stdout, stderr: process.stderr, signal: controller.signal, version },
    ...{ openSession: createLiveSession, openSessions: createLiveSessions, measureDrift: drift, openBrowser },
    readPage: () => readFile(page, "utf8"),
  });
}

async function openBrowser(url: string): Promise<void> {
  const { default: open } = await import("open");
  const child = await open(url);
  // Without a desktop there is nothing to open it with; the address is printed.
  child.on("error", () => {});
}
