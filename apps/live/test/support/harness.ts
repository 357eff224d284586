import { PassThrough } from "node:stream";
import type { Dependencies } from "../../src/dependencies";
import { run } from "../../src/run";
import { fakeSessions } from "./fake-session";

/** What a command printed, and its exit status. */
export interface Ran {
  status: number;
  stdout: Buffer;
  stderr: string;
}

/** A command line that runs in this process. */
export interface Running {
  ended: Promise<Ran>;
  /** Settles with the address that was printed. */
  url: Promise<string>;
  stop(): void;
  /** What it wrote to standard error so far. */
  said(): string;
}

/** Starts one command line over fake sessions, or what `replaced` has instead. */
export function startVdLive(argv: readonly string[], replaced: Partial<Dependencies> = {}): Running {
  const controller = new AbortController();
  const stdout = new PassThrough();
  const pieces: Buffer[] = [];
  stdout.on("data", (piece: Buffer) => pieces.push(piece));
  let stderr = "";
  let foundUrl = (_url: string) => {};
  const url = new Promise<string>((resolve) => {
    foundUrl = resolve;
  });
  const write = (text: string) => {
    stderr += text;
    const found = / at (http:\S+)/.exec(stderr)?.[1];
    if (found !== undefined) foundUrl(found);
  };
  const status = run(argv, {
    ...{ stdout, stderr: { write }, signal: controller.signal, version: "1.2.3" },
    openSession: fakeSessions().openSession,
    openSessions: () => Promise.reject(new Error("one session here")),
    measureDrift: () => Promise.reject(new Error("no drift here")),
    readPage: async () => "<!doctype html><title>page</title><style></style><script></script>",
    openBrowser: async () => {},
    ...replaced,
  });
  const ended = status.then((code) => ({ status: code, stdout: Buffer.concat(pieces), stderr }));
  return { ended, url, stop: () => controller.abort(), said: () => stderr };
}

/** Runs one command line to its end. */
export const vdLive = (argv: readonly string[], replaced?: Partial<Dependencies>): Promise<Ran> =>
  startVdLive(argv, replaced).ended;
