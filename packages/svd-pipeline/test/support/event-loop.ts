import { existsSync, readFileSync } from "node:fs";

const SCHEDSTAT = "/proc/thread-self/schedstat";

/** Time that this thread has been on a processor, in µs; elsewhere than on Linux, time at all. What other processes do
 *  hardly counts. The system brings the number up to date a few times per hundredth of a second. */
export function busyUs(): number {
  return existsSync(SCHEDSTAT)
    ? Number(readFileSync(SCHEDSTAT, "utf8").split(" ")[0]) / 1_000
    : performance.now() * 1_000;
}

/** Runs `body` and tells the longest time that this thread was busy without the event loop turning, in µs. */
export async function longestStretchUs(body: () => Promise<unknown>): Promise<number> {
  let longestUs = 0;
  let last = busyUs();
  const beat = () => {
    const now = busyUs();
    longestUs = Math.max(longestUs, now - last);
    last = now;
    handle = setImmediate(beat);
  };
  let handle = setImmediate(beat);
  try {
    await body();
  } finally {
    clearImmediate(handle);
  }
  return longestUs;
}
