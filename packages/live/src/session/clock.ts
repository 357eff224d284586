/** What a session knows of time; tests bring their own. */
export interface SessionClock {
  /** Milliseconds since some moment. */
  now(): number;
  /** Calls back at `time` or soon after it; the result ends the wait. */
  at(time: number, callback: () => void): () => void;
}

/** The most that a timer of Node.js waits for; it fires at once where it is asked for more. */
const LONGEST_TIMER_MS = 2 ** 31 - 1;

/** The machine's clock. */
export const systemClock: SessionClock = {
  now: () => performance.now(),
  at(time, callback) {
    let timer: NodeJS.Timeout;
    const wait = () => {
      const ms = Math.max(0, time - performance.now());
      timer = ms > LONGEST_TIMER_MS ? setTimeout(wait, LONGEST_TIMER_MS) : setTimeout(callback, ms);
    };
    wait();
    return () => clearTimeout(timer);
  },
};
