import { run } from "./run";

const STOPPED_STATUS = 130;

/** Runs the command line of this process and sets its exit status. */
export async function main(argv: readonly string[], version: string): Promise<void> {
  // A reader that stops early (`vd-bench ops | head`) is no failure of ours.
  for (const stream of [process.stdout, process.stderr])
    stream.on("error", (error: NodeJS.ErrnoException) => {
      if (error.code !== "EPIPE") throw error;
    });
  const controller = new AbortController();
  const onSignal = () => {
    if (controller.signal.aborted) process.exit(STOPPED_STATUS);
    controller.abort();
  };
  for (const name of ["SIGINT", "SIGTERM", "SIGHUP"] as const) process.on(name, onSignal);
  process.exitCode = await run(argv, {
    stdout: process.stdout,
    stderr: process.stderr,
    signal: controller.signal,
    self: { program: process.execPath, args: [...process.execArgv, process.argv[1]!] },
    version,
  });
}
