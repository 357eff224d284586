import type { StageEvent } from "@vd/svd-pipeline/progress";
import type { Io } from "../io";
import type { Settings } from "../settings";
import { type ColourVariables, type Paint, paintFor } from "./colours";
import { jsonReporter } from "./json";
import { lineReporter, warningLine } from "./lines";

/** Tells the user, or the program that reads along, how the work goes. */
export interface Reporter {
  /** How long the stages of a plan are expected to take, by their names there; before the first of them. */
  expect(stages: readonly { name: string; estimatedUs: number }[]): void;
  progress(event: StageEvent): void;
  /** A sentence worth reading, such as the seed that was drawn. */
  note(text: string): void;
  warning(text: string): void;
  /** A preview picture was written or replaced. */
  preview(path: string, step: number): void;
  /** Takes the bar off the screen until the next event: somebody is asked something. */
  pause(): void;
  /** Takes the bar off the screen; nothing may be reported after it. */
  close(): void;
}

/** Returns the reporter that suits the options and the terminal. */
export async function makeReporter(
  io: Io,
  { json, quiet }: Pick<Settings, "json" | "quiet">,
  variables: ColourVariables,
): Promise<Reporter> {
  if (json) return jsonReporter(io);
  const paint = paintFor(io.stderr, variables);
  if (quiet) return quietReporter(io, paint);
  return io.stderr.isTTY ? (await import("./bar")).barReporter(io, paint) : lineReporter(io, paint);
}

function quietReporter(io: Io, paint: Paint): Reporter {
  return {
    expect() {},
    progress() {},
    note() {},
    warning: (text) => io.stderr.write(`${warningLine(text, paint)}\n`),
    preview() {},
    pause() {},
    close() {},
  };
}
