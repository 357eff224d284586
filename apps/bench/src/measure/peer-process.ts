import { type ChildProcessWithoutNullStreams, spawn } from "node:child_process";
import { createInterface } from "node:readline";
import { VdError } from "@vd/kernels-native";

/** What a peer answers to one request. */
export type Answer = Readonly<Record<string, unknown>>;

/** Lines of the peer's standard error that are kept for messages. */
const KEPT_LINES = 12;

interface Pending {
  resolve(answer: Answer): void;
  reject(error: VdError): void;
}

/** A peer program that stays alive and answers JSON lines. */
export class PeerProcess {
  private readonly child: ChildProcessWithoutNullStreams;
  private readonly pending = new Map<number, Pending>();
  private readonly errors: string[] = [];
  private nextId = 0;
  private ended: string | undefined;

  /** Starts `program`; a failure to start shows at the first request. onLog: lines that the program prints aside. */
  constructor(
    readonly name: string,
    private readonly program: string,
    args: readonly string[],
    private readonly onLog: (line: string) => void = () => {},
  ) {
    this.child = spawn(program, args, { stdio: ["pipe", "pipe", "pipe"] });
    this.child.stdin.on("error", () => {}); // A peer that ended says why through "close".
    this.child.on("error", (error) => this.end(error.message));
    this.child.on("close", (code, signal) => this.end(`ended with ${signal ?? `status ${code}`}`));
    createInterface({ input: this.child.stdout }).on("line", (line) => this.take(line));
    createInterface({ input: this.child.stderr }).on("line", (line) => this.log(line));
  }

  /**
   * Sends a request and waits for its answer.
   *
   * @throws VdError `unsupported` with the peer's reason
   */
  request(cmd: string, options: Record<string, unknown> = {}): Promise<Answer> {
    if (this.ended !== undefined) return Promise.reject(this.failure(this.ended));
    const id = this.nextId++;
    return new Promise((resolve, reject) => {
      this.pending.set(id, { resolve, reject });
      this.child.stdin.write(`${JSON.stringify({ ...options, id, cmd })}\n`);
    });
  }

  /** Ends the program at once. */
  stop(): void {
    this.child.kill();
  }

  private take(line: string): void {
    let answer: Answer;
    try {
      answer = JSON.parse(line) as Answer;
    } catch {
      this.log(line);
      return;
    }
    const waiting = this.pending.get(Number(answer.id));
    if (!waiting) return;
    this.pending.delete(Number(answer.id));
    if (answer.ok === true) waiting.resolve(answer);
    else waiting.reject(this.failure(String(answer.reason)));
  }

  private log(line: string): void {
    this.errors.push(line);
    if (this.errors.length > KEPT_LINES) this.errors.shift();
    this.onLog(line);
  }

  private end(how: string): void {
    this.ended ??= plainReason(this.program, how, this.errors.at(-1));
    for (const { reject } of this.pending.values()) reject(this.failure(this.ended));
    this.pending.clear();
  }

  private failure(got: string): VdError {
    return new VdError({ code: "unsupported", where: this.name, expected: "a peer that runs", got });
  }
}

/** Why a peer ended, in words: what Python and the system say, where they are known, else as it came. */
function plainReason(program: string, how: string, lastLine: string | undefined): string {
  const missing = /^ModuleNotFoundError: No module named '([^'.]+)/.exec(lastLine ?? "")?.[1];
  if (missing !== undefined)
    return `${program} has no package ${missing}: install it, or name another Python with --python`;
  if (how.endsWith("ENOENT")) return `there is no program ${program}: name a Python with --python`;
  return [how, lastLine].filter(Boolean).join(": ");
}
