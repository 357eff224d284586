import { cancelOnSignals } from "../cancellation";
import type { Context, Dependencies } from "../dependencies";
import { isDeclined } from "../models/consent";
import { reportCancelled, reportFailure, STATUS } from "./failure";
import { makeReporter } from "./reporter";

/** What a command line asks for: a text such as help, or work with checked values. */
export type ReadCommand =
  | { kind: "text"; text: string }
  | { kind: "values"; json: boolean; quiet: boolean; work(context: Context): Promise<void> };

/** A command beside the generation itself. */
export interface CommandRun {
  /** Reads the command line; may throw. */
  read(): ReadCommand;
  /** What to say of the result where the work was cancelled. */
  cancelled: string;
  /** Runs last, whatever happened. */
  finish?(): void;
}

/**
 * Runs a command: its reporter, its signals and how it ends.
 * @returns the exit status: 0 done, 1 failed, 2 wrong usage, 130 cancelled. It throws nothing.
 */
export async function runCommand(
  argv: readonly string[],
  { read, cancelled, finish }: CommandRun,
  dependencies: Dependencies,
): Promise<number> {
  const { io, signals, variables } = dependencies;
  let json = argv.includes("--json");
  let isUsageChecked = false;
  const cancellation = cancelOnSignals(signals, () => {});
  try {
    const command = read();
    if (command.kind === "text") {
      io.stdout.write(command.text);
      return STATUS.done;
    }
    json = command.json;
    isUsageChecked = true;
    const reporter = await makeReporter(io, command, variables);
    try {
      await command.work({ ...dependencies, reporter, signal: cancellation.signal });
    } finally {
      reporter.close();
    }
    return STATUS.done;
  } catch (error) {
    if (cancellation.signal.aborted || isDeclined(error)) return reportCancelled(json, cancelled, dependencies);
    return reportFailure(error, { json, isUsageChecked }, dependencies);
  } finally {
    cancellation.dispose();
    finish?.();
  }
}
