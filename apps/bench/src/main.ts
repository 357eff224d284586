import { watchOutputs } from "@vd/app-parts";
import { run } from "./run";

const FAILED_STATUS = 1;
const STOPPED_STATUS = 130;

/** Runs the command line of this process and sets its exit status. */
export async function main(argv: readonly string[], version: string): Promise<void> {
  const lost = watchOutputs(process, "Make room, or name a file by --json", () => {
    process.exitCode = FAILED_STATUS;
  });
  const controller = new AbortController();
  const onSignal = () => {
    if (controller.signal.aborted) process.exit(STOPPED_STATUS);
    controller.abort();
  };
  for (const name of ["SIGINT", "SIGTERM", "SIGHUP"] as const) process.on(name, onSignal);
  const status = await run(argv, {
    stdout: process.stdout,
    stderr: process.stderr,
    signal: controller.signal,
    self: { program: process.execPath, args: [...process.execArgv, process.argv[1]!] },
    version,
  });
  process.exitCode = status === 0 && lost.isTold ? FAILED_STATUS : status;
}
