import { type ChildProcess, spawn } from "node:child_process";
import { cancelledError, VdError } from "@vd/kernels-native";

/** How to run a program. */
export interface ProcessOptions {
  readonly signal?: AbortSignal | undefined;
  /** Each line that it prints. */
  readonly onLine?: ((line: string) => void) | undefined;
}

/** A program that was asked to end gets this long before it is ended by force. */
const GRACE_MS = 5000;
const KEPT_LINES = 400;

/** Lines that say what went wrong, else the last ones. */
function complaint(lines: readonly string[]): string {
  const errors = lines.filter((line) => /\[E\]|error|fail/i.test(line));
  return (errors.length > 0 ? errors : lines).slice(-4).join(" | ").slice(0, 1000) || "nothing";
}

/** The last lines of a program, as they come. */
function collectLines(child: ChildProcess, onLine: ProcessOptions["onLine"]): string[] {
  const lines: string[] = [];
  for (const stream of [child.stdout!, child.stderr!])
    readLines(stream, (line) => {
      lines.push(line);
      if (lines.length > KEPT_LINES) lines.shift();
      onLine?.(line);
    });
  return lines;
}

/**
 * Runs a program to its end.
 *
 * @throws VdError `unsupported` with what it complained of if it fails or cannot be started, `cancelled` once the
 *   signal has fired and the program has ended
 */
export function runProcess(program: string, args: readonly string[], options: ProcessOptions = {}): Promise<void> {
  const { signal, onLine } = options;
  const fail = (got: string, cause?: unknown) =>
    new VdError({ code: "unsupported", where: program, expected: "success", got, cause });
  if (signal?.aborted) return Promise.reject(cancelledError(program, { signal }));
  return new Promise((resolve, reject) => {
    const child = spawn(program, args, { stdio: ["ignore", "pipe", "pipe"], windowsHide: true });
    const lines = collectLines(child, onLine);
    let force: NodeJS.Timeout | undefined;
    const stop = () => {
      child.kill("SIGTERM");
      force = setTimeout(() => child.kill("SIGKILL"), GRACE_MS);
    };
    signal?.addEventListener("abort", stop, { once: true });
    const settle = (error?: VdError) => {
      clearTimeout(force);
      signal?.removeEventListener("abort", stop);
      if (error) reject(error);
      else resolve();
    };
    child.on("error", (cause) => settle(fail(cause.message, cause)));
    child.on("close", (code, killedBy) => {
      if (signal?.aborted) settle(cancelledError(program, { signal }));
      else settle(code === 0 ? undefined : fail(`exit ${code ?? killedBy}: ${complaint(lines)}`));
    });
  });
}

function readLines(stream: NodeJS.ReadableStream, onLine: (line: string) => void): void {
  let rest = "";
  stream.setEncoding("utf8");
  stream.on("data", (text: string) => {
    const lines = (rest + text).split(/\r?\n/);
    rest = lines.pop() ?? "";
    for (const line of lines) onLine(line);
  });
  stream.on("end", () => rest !== "" && onLine(rest));
}
