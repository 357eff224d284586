import { isVdError } from "@vd/kernels-native";
import { CANCELLED_STATUS } from "../cancellation";
import type { Dependencies } from "../dependencies";
import { nameFlags } from "../options/name-flags";
import { paintFor } from "./colours";
import { errorEvent, writeEvent } from "./json";

/** Exit statuses besides that of a cancelled run. */
export const STATUS = { done: 0, failed: 1, usage: 2 } as const;

/** How a failure is told. */
export interface FailureOptions {
  json: boolean;
  /** Wrong usage is looked for no more: what is wrong now is no fault of the command line's. */
  isUsageChecked: boolean;
}

/** Tells of a run that was stopped and returns its exit status. what: what there is not, `no video was written`. */
export function reportCancelled(json: boolean, what: string, { io }: Pick<Dependencies, "io">): number {
  if (json) writeEvent(io, { event: "cancelled", exitCode: CANCELLED_STATUS });
  io.stderr.write(`Stopped; ${what}.\n`);
  return CANCELLED_STATUS;
}

/** Tells of an error and returns the exit status: 2 for wrong usage, else 1. */
export function reportFailure(
  error: unknown,
  { json, isUsageChecked }: FailureOptions,
  { io, variables }: Pick<Dependencies, "io" | "variables">,
): number {
  const paint = paintFor(io.stderr, variables);
  if (!isVdError(error)) {
    const stack = error instanceof Error ? (error.stack ?? error.message) : String(error);
    if (json) writeEvent(io, { event: "error", code: "internal", message: String(error), exitCode: STATUS.failed });
    io.stderr.write(`vd-generate failed by a mistake of its own. Please report this:\n${stack}\n`);
    return STATUS.failed;
  }
  const status = error.code === "attr" && !isUsageChecked ? STATUS.usage : STATUS.failed;
  const named = nameFlags(error);
  if (json) writeEvent(io, errorEvent(named, status));
  io.stderr.write(`${paint("error", "Error:")} ${named.message}${/[.?!]$/.test(named.message) ? "" : "."}\n`);
  return status;
}
