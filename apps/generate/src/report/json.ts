import type { VdError } from "@vd/kernels-native";
import type { Io } from "../io";
import type { Reporter } from "./reporter";
import { StageClock } from "./stage-clock";

/** One line of `--json`: an object with its kind in `event`. Times are µs, sizes bytes, seeds decimal texts. */
export interface JsonEvent {
  event:
    | "download"
    | "model"
    | "start"
    | "progress"
    | "preview"
    | "note"
    | "warning"
    | "plan"
    | "done"
    | "finished"
    | "cancelled"
    | "error";
  [key: string]: unknown;
}

/** Writes one event as one line; bigints, which JSON lacks, become decimal texts. */
export function writeEvent(io: Io, event: JsonEvent): void {
  const text = JSON.stringify(event, (_, value) => (typeof value === "bigint" ? String(value) : value));
  io.stdout.write(`${text}\n`);
}

/** Reports every event as a line of JSON on standard output. */
export function jsonReporter(io: Io): Reporter {
  const clock = new StageClock(io.nowUs);
  return {
    progress: (event) => writeEvent(io, { event: "progress", ...event, etaUs: clock.update(event).etaUs }),
    note: (message) => writeEvent(io, { event: "note", message }),
    warning: (message) => writeEvent(io, { event: "warning", message }),
    preview: (path, step) => writeEvent(io, { event: "preview", output: path, step }),
    expect() {},
    pause() {},
    close() {},
  };
}

/** @returns an error as an event; the same words that a terminal shows are in `message`. */
export function errorEvent({ code, where, expected, got, hint, message }: VdError, exitCode: number): JsonEvent {
  return { event: "error", code, where, expected, got, hint, message, exitCode };
}
