import { cancelledError } from "@vd/kernels-native";
import { discardAll } from "@vd/tensor";

/** The part of `process` that tells of signals. */
export interface SignalSource {
  on(signal: NodeJS.Signals, listener: () => void): unknown;
  off(signal: NodeJS.Signals, listener: () => void): unknown;
  exit(code: number): void;
}

/** Exit status of a run that was stopped, as shells know it for Ctrl-C. */
export const CANCELLED_STATUS = 130;

const SIGNALS: readonly NodeJS.Signals[] = ["SIGINT", "SIGTERM", "SIGHUP"];

/** A signal to abort, and a way to stop listening. */
export interface Cancellation {
  signal: AbortSignal;
  dispose(): void;
}

/**
 * Turns the first Ctrl-C (or SIGTERM, SIGHUP) into an abort and the second into an exit at once; both leave no temporary
 * files. The abort's reason is a VdError `cancelled`.
 */
export function cancelOnSignals(source: SignalSource, onFirst: () => void): Cancellation {
  const controller = new AbortController();
  const listener = () => {
    if (controller.signal.aborted) {
      discardAll();
      source.exit(CANCELLED_STATUS);
      return;
    }
    controller.abort(cancelledError("vd-generate", { got: "a signal to stop" }));
    onFirst();
  };
  for (const signal of SIGNALS) source.on(signal, listener);
  return {
    signal: controller.signal,
    dispose: () => {
      for (const signal of SIGNALS) source.off(signal, listener);
    },
  };
}
