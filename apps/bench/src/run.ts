import { isVdError } from "@vd/kernels-native";
import { Command, CommanderError } from "commander";
import { addCompare } from "./commands/compare";
import { addDoctor } from "./commands/doctor";
import { addGate } from "./commands/gate";
import { addMakeModel } from "./commands/make-model";
import { addFirstLaunch, addMeasure } from "./commands/measure";
import { addOps } from "./commands/ops";
import { addMemory, addParts } from "./commands/parts";
import { addQuality } from "./commands/quality";
import { addReport } from "./commands/report";
import { addRoofline } from "./commands/roofline";
import { makeReporter, type Reporter, type TextOutput } from "./io/reporter";
import type { SelfProgram } from "./measure/start";

/** All that commands need from outside; tests replace any of it. */
export interface Dependencies {
  stdout: TextOutput;
  stderr: TextOutput;
  signal: AbortSignal;
  self: SelfProgram;
  version: string;
}

/** What a command works with. */
export interface CommandContext extends Dependencies {
  reporter: Reporter;
  /** Ends the command with a status of its own. */
  setStatus(status: number): void;
}

/** Exit statuses: done, failed, wrong usage, stopped. */
const STATUS = { done: 0, failed: 1, usage: 2, stopped: 130 } as const;

/** Runs one command line. Returns the exit status: 0 done, 1 failed or a real regression, 2 wrong usage, 130 stopped. */
export async function run(argv: readonly string[], dependencies: Dependencies): Promise<number> {
  const { stderr, signal } = dependencies;
  let status: number = STATUS.done;
  const setStatus = (given: number) => {
    status = given;
  };
  try {
    const context = { ...dependencies, reporter: makeReporter(stderr), setStatus };
    await program(context).parseAsync([...argv], { from: "user" });
    return status;
  } catch (error) {
    if (signal.aborted) {
      stderr.write("Stopped; results of finished parts are kept.\n");
      return STATUS.stopped;
    }
    if (error instanceof CommanderError) return error.exitCode === 0 ? STATUS.done : STATUS.usage;
    if (isVdError(error)) {
      stderr.write(`Error: ${error.message}\n`);
      return error.code === "attr" ? STATUS.usage : STATUS.failed;
    }
    const stack = error instanceof Error ? (error.stack ?? error.message) : String(error);
    stderr.write(`vd-bench failed by a mistake of its own. Please report this:\n${stack}\n`);
    return STATUS.failed;
  }
}

function program(context: CommandContext): Command {
  const command = new Command("vd-bench")
    .description("How fast this machine is, beside its peers, and whether everything is in order.")
    .version(context.version, "-V, --version", "show the version")
    .exitOverride()
    .configureOutput({
      writeOut: (text) => context.stdout.write(text),
      writeErr: (text) => context.stderr.write(text),
    });
  for (const add of [
    addDoctor,
    addOps,
    addParts,
    addMemory,
    addQuality,
    addCompare,
    addGate,
    addRoofline,
    addReport,
    addMakeModel,
    addMeasure,
    addFirstLaunch,
  ])
    add(command, context);
  return command;
}
