import { isVdError } from "@vd/kernels-native";
import { Command, CommanderError } from "commander";
import { buildCommand } from "./build";
import { doctorCommand } from "./doctor";
import { exportCommand } from "./export";
import { infoCommand } from "./info";

/** Something that takes text. */
export interface TextOutput {
  write(text: string): unknown;
  isTTY?: boolean | undefined;
}

/** How the command talks to the world: results on `stdout`, everything about the work on `stderr`. */
export interface CliIo {
  readonly stdout: TextOutput;
  readonly stderr: TextOutput;
  readonly signal: AbortSignal;
  readonly version: string;
}

/** A command cancelled by Ctrl-C ends as the shell expects it. */
const CANCELLED_STATUS = 130;

function program(io: CliIo): Command {
  const command = new Command("vd-tensorrt")
    .description("Stable Video Diffusion as ONNX models and TensorRT engines.")
    .version(io.version)
    .exitOverride()
    .configureOutput({ writeOut: (text) => io.stdout.write(text), writeErr: (text) => io.stderr.write(text) });
  for (const add of [exportCommand, infoCommand, buildCommand, doctorCommand]) {
    const sub = add(io).exitOverride();
    sub.configureOutput({ writeOut: (text) => io.stdout.write(text), writeErr: (text) => io.stderr.write(text) });
    command.addCommand(sub);
  }
  return command;
}

/** Runs the command line. Resolves to the exit status: 0, 1 for a failure, 2 for a wrong command line, 130 for a cancel. */
export async function runCli(argv: readonly string[], io: CliIo): Promise<number> {
  try {
    await program(io).parseAsync([...argv], { from: "user" });
    return 0;
  } catch (error) {
    if (error instanceof CommanderError) return error.exitCode === 0 ? 0 : 2;
    if (!isVdError(error)) throw error;
    io.stderr.write(`vd-tensorrt: ${error.message}\n`);
    if (error.code === "cancelled") return CANCELLED_STATUS;
    return error.code === "attr" ? 2 : 1;
  }
}
