import { optional, requireFields, SIGNAL, TEXT, throwIfAborted, type WantedFields } from "@vd/kernels-native";
import type { SliceOptions } from "@vd/tensor";

/** How work on a picture is cancelled. Threads that are at work come to their end; the call then rejects. */
export type PictureWork = Pick<SliceOptions, "signal" | "where">;

const WORK: WantedFields = { signal: optional(SIGNAL), where: optional(TEXT) };

/**
 * Runs `body` unless the work was cancelled before, and gives its result unless it was meanwhile. where: what the work is called by default.
 *
 * @throws VdError `cancelled` when the signal has fired, `attr` for options that are none
 */
export async function cancellable<T>(where: string, work: PictureWork, body: () => Promise<T>): Promise<T> {
  requireFields(where, work, WORK);
  throwIfAborted(work.signal, work.where ?? where);
  const result = await body();
  throwIfAborted(work.signal, work.where ?? where);
  return result;
}
