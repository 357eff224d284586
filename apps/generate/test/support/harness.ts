import { EventEmitter } from "node:events";
import type { Dependencies } from "../../src/dependencies";
import type { Io } from "../../src/io";
import { run } from "../../src/run";
import { type FakeOptions, fakeFactory } from "./fake-pipeline";

/** What a command line came to. */
export interface Outcome {
  status: number;
  stdout: string;
  stderr: string;
  /** Lines of standard output, read as JSON. */
  events(): Record<string, unknown>[];
}

/** Standing in for `process`: tests emit signals on it and see whether it was told to exit. */
export class FakeProcess extends EventEmitter {
  exitCode: number | undefined;
  exit(code: number): void {
    this.exitCode = code;
  }
}

/** Runs a command line in this process with the fake pipeline and a clock that goes 1 ms a look. */
export async function runCommand(
  argv: readonly string[],
  fake: FakeOptions = {},
  overrides: Partial<Dependencies> & { isTTY?: boolean; confirm?: Io["confirm"] } = {},
): Promise<Outcome> {
  const { isTTY, confirm, ...dependencies } = overrides;
  let [stdout, stderr, nowUs] = ["", "", 0];
  const io: Io = {
    stdout: {
      write: (text) => {
        stdout += text;
      },
    },
    confirm,
    stderr: {
      isTTY,
      write: (text) => {
        stderr += text;
      },
    },
    nowUs: () => {
      nowUs += 1000;
      return nowUs;
    },
  };
  const status = await run(argv, {
    io,
    pipelineFactory: fakeFactory(fake),
    signals: new FakeProcess(),
    version: "1.2.3",
    ffmpeg: "/no/such/ffmpeg",
    variables: {},
    stdin: () => {
      throw new Error("nothing is on standard input in tests");
    },
    writeBytes: () => Promise.reject(new Error("nothing reads bytes in tests")),
    openFile: () => Promise.reject(new Error("nothing is opened in tests")),
    peakRssBytes: async () => 123 * 2 ** 20,
    ...dependencies,
  });
  const events = () =>
    stdout
      .trimEnd()
      .split("\n")
      .map((line) => JSON.parse(line) as Record<string, unknown>);
  return { status, stdout, stderr, events };
}
