import { discardAll } from "@vd/tensor";
import { type Cancellation, cancelOnSignals } from "./cancellation";
import type { Dependencies } from "./dependencies";
import type { ArgumentsContext } from "./options/arguments";
import { parseArguments } from "./options/parse";
import { paintFor } from "./report/colours";
import { reportCancelled, reportFailure, STATUS } from "./report/failure";
import { makeReporter } from "./report/reporter";

/**
 * Runs one command line from its words to the file. What only some commands need is loaded when they need it: help and
 * mistakes in usage answer at once.
 * @returns the exit status: 0 done, 1 failed, 2 wrong usage, 130 cancelled. It throws nothing.
 */
export async function run(argv: readonly string[], dependencies: Dependencies): Promise<number> {
  const { io, variables, version } = dependencies;
  const context = { version, paint: paintFor(io.stdout, variables), columns: io.stdout.columns };
  const [word, ...rest] = argv;
  switch (word) {
    case "models":
      return (await import("./models/command")).runModels(rest, context, dependencies);
    case "calibrate":
      return (await import("./calibrate/command")).runCalibrate(rest, context, dependencies);
    case "completion":
      return runCompletion(rest, context, dependencies);
    case "generate":
      return runGenerate(rest, context, dependencies);
    default:
      return runGenerate(argv, context, dependencies);
  }
}

async function runCompletion(argv: readonly string[], context: ArgumentsContext, dependencies: Dependencies) {
  try {
    const { printCompletion } = await import("./completion/command");
    await printCompletion(argv, dependencies.io.stdout, context);
    return STATUS.done;
  } catch (error) {
    return reportFailure(error, { json: false, isUsageChecked: false }, dependencies);
  }
}

async function runGenerate(
  argv: readonly string[],
  argumentsContext: ArgumentsContext,
  dependencies: Dependencies,
): Promise<number> {
  const { io } = dependencies;
  // Until the options are read, this is how to know in which form to complain.
  let json = argv.includes("--json");
  let cancellation: Cancellation | undefined;
  let isUsageChecked = false;
  let ending = "no video was written";
  try {
    const parsed = await parseArguments(argv, argumentsContext);
    if (parsed.kind === "text") {
      io.stdout.write(parsed.text);
      return STATUS.done;
    }
    const { settings, images } = parsed;
    json = settings.json;
    if (settings.resume !== false) ending += "; the same command goes on from here";
    const reporter = await makeReporter(io, settings, dependencies.variables);
    cancellation = cancelOnSignals(dependencies.signals, () => {
      if (!settings.quiet) reporter.note("Stopping after this step. Ctrl-C once more stops at once.");
    });
    const context = { ...dependencies, reporter, signal: cancellation.signal };
    const onChecked = () => {
      isUsageChecked = true;
    };
    try {
      const { runAll } = await import("./run-all");
      const numFailed = await runAll(settings, images, context, onChecked);
      if (numFailed > 0) return STATUS.failed;
    } finally {
      reporter.close();
    }
    return STATUS.done;
  } catch (error) {
    const { isDeclined } = await import("./models/consent");
    if (cancellation?.signal.aborted || isDeclined(error)) return reportCancelled(json, ending, dependencies);
    return reportFailure(error, { json, isUsageChecked }, dependencies);
  } finally {
    cancellation?.dispose();
    discardAll();
  }
}
