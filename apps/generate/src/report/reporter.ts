import type { Io } from "../io";
import type { Settings } from "../settings";
import { barReporter } from "./bar";
import { jsonReporter } from "./json";
import { lineReporter } from "./lines";
import type { StageEvent } from "./stage-clock";

/** Tells the user, or the program that reads along, how the work goes. */
export interface Reporter {
  progress(event: StageEvent): void;
  /** A sentence worth reading, such as the seed that was drawn. */
  note(text: string): void;
  warning(text: string): void;
  /** A preview picture was written or replaced. */
  preview(path: string, step: number): void;
  /** Takes the bar off the screen; nothing may be reported after it. */
  close(): void;
}

/** @returns the reporter that suits the options and the terminal. */
export function makeReporter(io: Io, { json, quiet }: Pick<Settings, "json" | "quiet">): Reporter {
  if (json) return jsonReporter(io);
  if (quiet) return quietReporter(io);
  return io.stderr.isTTY ? barReporter(io) : lineReporter(io);
}

function quietReporter(io: Io): Reporter {
  return {
    progress() {},
    note() {},
    warning: (text) => io.stderr.write(`Warning: ${text}.\n`),
    preview() {},
    close() {},
  };
}
