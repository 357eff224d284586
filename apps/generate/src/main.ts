import { watchOutputs } from "@vd/app-parts";
import type { Dependencies } from "./dependencies";
import type { PipelineFactory } from "./model/factory";
import { STATUS } from "./report/failure";
import { run } from "./run";

/**
 * Runs the command line of this process and sets its exit status.
 * @param version what `--version` prints
 */
export async function main(pipelineFactory: PipelineFactory, argv: readonly string[], version: string): Promise<void> {
  const lost = watchOutputs(process, "Make room, or name a file by --output", () => {
    process.exitCode = STATUS.failed;
  });
  if (argv[0] === "completion-server") {
    const { answerShell } = await import("./completion/server");
    answerShell({
      COMP_LINE: process.env.COMP_LINE,
      COMP_POINT: process.env.COMP_POINT,
      SHELL: process.env.SHELL,
    });
    return;
  }
  const status = await run(argv, dependenciesOf(pipelineFactory, version));
  process.exitCode = status === STATUS.done && lost.isTold ? STATUS.failed : status;
}

function dependenciesOf(pipelineFactory: PipelineFactory, version: string): Dependencies {
  const isInteractive = process.stdin.isTTY && process.stderr.isTTY;
  return {
    io: {
      stdout: process.stdout,
      stderr: process.stderr,
      confirm: isInteractive ? confirm : undefined,
      nowUs: () => Math.round(performance.now() * 1000),
    },
    pipelineFactory,
    signals: process,
    version,
    ffmpeg: "ffmpeg",
    variables: {
      NO_COLOR: process.env.NO_COLOR,
      FORCE_COLOR: process.env.FORCE_COLOR,
      TERM: process.env.TERM,
    },
    stdin: () => process.stdin,
    // What could not be written is told where outputs are watched.
    writeBytes: (bytes) => new Promise((done) => process.stdout.write(bytes, () => done())),
    openFile,
    // Loaded by then; help and completion need nothing of it.
    peakRssBytes: async () => (await import("@vd/tensor")).peakProcessBytes(),
  };
}

/** Asks at the terminal; whatever does not begin with a y is a no. */
async function confirm(question: string, signal: AbortSignal): Promise<boolean> {
  const { createInterface } = await import("node:readline/promises");
  const terminal = createInterface({ input: process.stdin, output: process.stderr });
  // Ctrl-C comes to the terminal's reader first, and an end of input to nobody else.
  terminal.on("SIGINT", () => process.kill(process.pid, "SIGINT"));
  const ended = new Promise<string>((resolve) => terminal.once("close", () => resolve("")));
  try {
    return /^y/i.test(await Promise.race([terminal.question(`${question} [y/N] `, { signal }), ended]));
  } finally {
    terminal.close();
  }
}

async function openFile(path: string): Promise<void> {
  const { default: open } = await import("open");
  const child = await open(path);
  await new Promise<void>((resolve, reject) => {
    child.once("error", reject);
    // A viewer that cannot start ends at once, one that starts may stay for hours.
    child.once("exit", (status) => (status ? reject(new Error(`the viewer ended with status ${status}`)) : resolve()));
    setTimeout(resolve, VIEWER_START_MS).unref();
  });
}

const VIEWER_START_MS = 1000;
