import { type ChildProcess, fork } from "node:child_process";
import type { GenerateDefaults } from "@vd/svd-pipeline";
import { workerEnvironment } from "../environment";
import type { VideoResult, VideoSettings } from "../videos/record";
import type { ModelPlace, VideoEstimate, WorkerNotice, WorkerRequest, WorkFailure, WorkOrder } from "./messages";

/** The program of a worker, and what Node.js needs to run it. */
export interface WorkerProgram {
  path: string;
  execArgv?: readonly string[] | undefined;
  env?: Readonly<Record<string, string>> | undefined;
  /** Told how a process ended by itself, with its last words: stacks and paths, which are no client's business. */
  log?: ((text: string) => void) | undefined;
}

/** How the work on a video ended. `crashed`: the process is gone. */
export type WorkOutcome =
  | { type: "done"; result: VideoResult }
  | { type: "failed"; failure: WorkFailure }
  | { type: "crashed"; message: string };

/** Hears what happens while a video is made. */
export type WorkListener = (notice: WorkerNotice & { type: "progress" | "preview" }) => void;

interface Call {
  resolve(value: never): void;
  reject(error: unknown): void;
}

interface Run {
  listener: WorkListener;
  end(outcome: WorkOutcome): void;
}

/** How long a cancelled worker may take to stop before its process is ended. */
const CANCEL_MS = 30_000;

/** A process that makes videos, started when it is needed and again after a crash: whatever native code does in it, the API goes on. */
export class WorkerProcess {
  private child: ChildProcess | undefined;
  private run: Run | undefined;
  private readonly calls = new Map<number, Call>();
  private numCalls = 0;
  private isStopped = false;

  constructor(private readonly program: WorkerProgram) {}

  /** True while a video is made. */
  get isBusy(): boolean {
    return this.run !== undefined;
  }

  /** The id of the process; undefined while there is none. */
  get pid(): number | undefined {
    return this.child?.pid;
  }

  /** Makes a video; never rejects. One at a time. */
  make(order: WorkOrder, listener: WorkListener): Promise<WorkOutcome> {
    return new Promise((resolve) => {
      this.run = {
        listener,
        end: (outcome) => {
          this.run = undefined;
          resolve(outcome);
        },
      };
      this.send({ type: "run", order });
    });
  }

  /** Cancels the video that is made; a process that does not listen is ended. */
  cancel(): void {
    const { run, child } = this;
    if (!run) return;
    this.send({ type: "cancel" });
    setTimeout(() => {
      if (this.run === run) child?.kill("SIGKILL");
    }, CANCEL_MS).unref();
  }

  /** Opens a model and returns its defaults. @throws WorkError */
  describe(model: ModelPlace): Promise<GenerateDefaults> {
    return this.call((call) => ({ type: "describe", call, model }));
  }

  /** Returns what a video would take. @throws WorkError */
  estimate(model: ModelPlace, settings: VideoSettings): Promise<VideoEstimate> {
    return this.call((call) => ({ type: "estimate", call, model, settings }));
  }

  /** Ends the process, whatever it does. */
  async stop(): Promise<void> {
    const { child } = this;
    if (!child || child.exitCode !== null || child.signalCode !== null) return;
    this.isStopped = true;
    const ended = new Promise((resolve) => child.once("exit", resolve));
    child.kill("SIGKILL");
    await ended;
  }

  private call<T>(request: (call: number) => WorkerRequest): Promise<T> {
    const call = ++this.numCalls;
    return new Promise<T>((resolve, reject) => {
      this.calls.set(call, { resolve: resolve as Call["resolve"], reject });
      this.send(request(call));
    });
  }

  private send(request: WorkerRequest): void {
    this.child ??= this.start();
    // What cannot be sent, since the process has just ended, is answered by its exit.
    this.child.send(request, () => {});
  }

  private start(): ChildProcess {
    const { path, execArgv = [], env } = this.program;
    const child = fork(path, {
      ...{ execArgv: [...execArgv], serialization: "advanced", stdio: ["ignore", "ignore", "pipe", "ipc"] },
      env: workerEnvironment(env),
    });
    let lastWords = "";
    child.stderr?.on("data", (text: Buffer) => {
      lastWords = `${lastWords}${text}`.slice(-2000);
    });
    child.on("message", (notice) => this.hear(notice as WorkerNotice));
    child.on("error", () => {});
    // `close` comes behind the last message and the last words, `exit` may come before them.
    child.on("close", (code, signal) => this.lost(child, signal ?? `status ${code}`, lastWords));
    return child;
  }

  private hear(notice: WorkerNotice): void {
    if (notice.type === "progress" || notice.type === "preview") this.run?.listener(notice);
    else if (notice.type === "done" || notice.type === "failed") this.run?.end(notice);
    else if (notice.type === "answer" || notice.type === "refusal") {
      const call = this.calls.get(notice.call);
      this.calls.delete(notice.call);
      if (notice.type === "answer") call?.resolve(notice.value as never);
      else call?.reject(errorOf(notice.failure));
    }
  }

  private lost(child: ChildProcess, how: string, lastWords: string): void {
    if (this.child !== child) return;
    this.child = undefined;
    const failure = { code: "internal", message: `The worker process ended with ${how}.` };
    if (!this.isStopped) this.program.log?.(`${failure.message}\n${lastWords}`);
    for (const { reject } of this.calls.values()) reject(errorOf(failure));
    this.calls.clear();
    this.run?.end({ type: "crashed", message: failure.message });
  }
}

/** An error that keeps the sentence of the other process. */
export class WorkError extends Error {
  constructor(readonly failure: WorkFailure) {
    super(failure.message);
  }
}

const errorOf = (failure: WorkFailure): WorkError => new WorkError(failure);
