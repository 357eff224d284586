import { cancelledError as cancelled, type VdError } from "@vd/kernels-native";

/** The error of a download that its caller cancelled. */
export function cancelledError(where: string, signal: AbortSignal | undefined): VdError {
  return cancelled(where, { signal, work: "the download", hint: "Run it again to go on where it stopped." });
}

/**
 * Goes on unless the signal is set.
 *
 * @throws VdError `cancelled` if it is
 */
export function throwIfCancelled(signal: AbortSignal | undefined, where: string): void {
  if (signal?.aborted) throw cancelledError(where, signal);
}

/** Waits, or throws VdError `cancelled` as soon as the signal is set. */
export function delay(milliseconds: number, signal: AbortSignal | undefined, where: string): Promise<void> {
  return new Promise((resolve, reject) => {
    if (signal?.aborted) return reject(cancelledError(where, signal));
    const onAbort = () => {
      clearTimeout(timer);
      reject(cancelledError(where, signal));
    };
    const timer = setTimeout(() => {
      signal?.removeEventListener("abort", onAbort);
      resolve();
    }, milliseconds);
    signal?.addEventListener("abort", onAbort, { once: true });
  });
}
