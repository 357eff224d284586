import { type ChildProcess, spawn } from "node:child_process";
import { fileURLToPath } from "node:url";
import { bundledProgram } from "../../../../tooling/testing/program";
import { WORKER_PROGRAM } from "./harness";

/** A vd-studio as a process of its own. */
export interface Spawned {
  child: ChildProcess;
  /** What it printed first, behind the colon. */
  line: string;
  /** Ends it by a signal; resolves with its exit status when it is gone. */
  end(signal: NodeJS.Signals): Promise<number | null>;
}

/** Starts the program and waits for its first line. @throws Error with what it printed where it ends before */
export async function spawnProgram(...words: string[]): Promise<Spawned> {
  const program = await bundledProgram(fileURLToPath(new URL("program.ts", import.meta.url)));
  const child = spawn(process.execPath, [program, WORKER_PROGRAM.path, ...words], {
    stdio: ["ignore", "pipe", "pipe"],
  });
  let errors = "";
  child.stderr.on("data", (text: Buffer) => {
    errors += text;
  });
  const gone = new Promise<number | null>((resolve) => child.once("close", resolve));
  const line = await new Promise<string>((resolve, reject) => {
    let text = "";
    child.stdout.on("data", (part: Buffer) => {
      text += part;
      if (text.includes("\n")) resolve(text.split("\n")[0]!.replace(/^[^:]*: /, ""));
    });
    void gone.then((status) => reject(new Error(`status ${status}: ${errors}`)));
  });
  return {
    child,
    line,
    end: (signal) => {
      child.kill(signal);
      return gone;
    },
  };
}
