import type { Writable } from "node:stream";
import type { DriftOptions, DriftReport } from "@vd/live";
import type { OpenSessions } from "./bench/session-bench";
import type { OpenSession } from "./game/game";

/** Something that takes text. */
export interface TextOutput {
  write(text: string): unknown;
  isTTY?: boolean | undefined;
  columns?: number | undefined;
}

/** All that the commands need from outside; tests replace any of it. */
export interface Dependencies {
  stdout: TextOutput & Writable;
  stderr: TextOutput;
  /** Ends the work. */
  signal: AbortSignal;
  version: string;
  openSession: OpenSession;
  openSessions: OpenSessions;
  measureDrift(options: DriftOptions): Promise<DriftReport>;
  /** Returns the page, HTML. */
  readPage(): Promise<string>;
  /** Shows an address in the person's browser. */
  openBrowser(url: string): Promise<void>;
}
