/** What a session knows of time; tests bring their own. */
export interface SessionClock {
  /** Milliseconds since some moment. */
  now(): number;
  /** Calls back at `time` or soon after it; the result ends the wait. */
  at(time: number, callback: () => void): () => void;
}

/** The machine's clock. */
export const systemClock: SessionClock = {
  now: () => performance.now(),
  at(time, callback) {
    const timer = setTimeout(callback, Math.max(0, time - performance.now()));
    return () => clearTimeout(timer);
  },
};
