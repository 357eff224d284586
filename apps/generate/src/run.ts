import { isVdError } from "@vd/kernels-native";
import { discardAll } from "@vd/tensor";
import { CANCELLED_STATUS, type Cancellation, cancelOnSignals, type SignalSource } from "./cancellation";
import { execute, prepare } from "./execute";
import type { Io } from "./io";
import type { PipelineFactory } from "./model/factory";
import { nameFlags } from "./options/name-flags";
import { parseArguments } from "./options/parse";
import { errorEvent, writeEvent } from "./report/json";
import { makeReporter } from "./report/reporter";

/** All that the command needs from outside; tests replace any of it. */
export interface Dependencies {
  io: Io;
  pipelineFactory: PipelineFactory;
  signals: SignalSource;
  version: string;
  /** Program name or path of ffmpeg. */
  ffmpeg: string;
  /** Largest resident size of this process so far, in bytes. */
  peakRssBytes(): number;
}

/** Exit statuses besides that of a cancelled run. */
const STATUS = { done: 0, failed: 1, usage: 2 } as const;

/**
 * Runs one command line from its words to the file.
 * @returns the exit status: 0 done, 1 failed, 2 wrong usage, 130 cancelled. It throws nothing.
 */
export async function run(argv: readonly string[], dependencies: Dependencies): Promise<number> {
  const { io } = dependencies;
  // Until the options are read, this is how to know in which form to complain.
  let json = argv.includes("--json");
  let cancellation: Cancellation | undefined;
  let isUsageChecked = false;
  try {
    const parsed = await parseArguments(argv, dependencies.version);
    if (parsed.kind === "text") {
      io.stdout.write(parsed.text);
      return STATUS.done;
    }
    const { settings } = parsed;
    json = settings.json;
    const reporter = makeReporter(io, settings);
    cancellation = cancelOnSignals(dependencies.signals, () => {
      if (!settings.quiet) reporter.note("Stopping after this step. Ctrl-C once more stops at once.");
    });
    try {
      const context = { ...dependencies, reporter, signal: cancellation.signal };
      const preparation = await prepare(settings, context);
      isUsageChecked = true;
      await execute(preparation, settings, context);
    } finally {
      reporter.close();
    }
    return STATUS.done;
  } catch (error) {
    if (cancellation?.signal.aborted) return reportCancelled(json, io);
    return reportFailure(error, json, io, isUsageChecked);
  } finally {
    cancellation?.dispose();
    discardAll();
  }
}

function reportCancelled(json: boolean, io: Io): number {
  if (json) writeEvent(io, { event: "cancelled", exitCode: CANCELLED_STATUS });
  io.stderr.write("Stopped; no video was written.\n");
  return CANCELLED_STATUS;
}

function reportFailure(error: unknown, json: boolean, io: Io, isUsageChecked: boolean): number {
  if (!isVdError(error)) {
    const stack = error instanceof Error ? (error.stack ?? error.message) : String(error);
    if (json) writeEvent(io, { event: "error", code: "internal", message: String(error), exitCode: STATUS.failed });
    io.stderr.write(`vd-generate failed by a mistake of its own. Please report this:\n${stack}\n`);
    return STATUS.failed;
  }
  const status = error.code === "attr" && !isUsageChecked ? STATUS.usage : STATUS.failed;
  const named = nameFlags(error);
  if (json) writeEvent(io, errorEvent(named, status));
  io.stderr.write(`Error: ${named.message}${/[.?!]$/.test(named.message) ? "" : "."}\n`);
  return status;
}
