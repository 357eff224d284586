import type { LiveSession, LiveSessionOptions } from "@vd/live";

/** Opens sessions over devices: `createLiveSessions` of `@vd/live`, or what a test has instead. */
export type OpenSessions = (
  sessions: readonly LiveSessionOptions[],
  options: { devices: readonly (string | number)[]; threads?: number | undefined },
) => Promise<LiveSession[]>;

/** How many frames several sessions make at the same time, beside one of them alone. */
export interface SessionsBench {
  devices: readonly string[];
  sessions: number;
  /** Frames a second: of each, of all together, and of one session that has the first device to itself. */
  each: readonly number[];
  fps: number;
  aloneFps: number;
}

/** What is timed. */
export interface SessionsBenchOptions {
  options: LiveSessionOptions;
  devices: readonly string[];
  sessions: number;
  /** Of each session. */
  frames: number;
  signal: AbortSignal;
}

/** Frames before the first that is timed. */
const WARM_FRAMES = 20;

/** Reads frames of a session; returns how many a second it made. */
async function timeFrames(session: LiveSession, frames: number, signal: AbortSignal): Promise<number> {
  let [count, startMs] = [0, 0];
  for await (const _ of session) {
    signal.throwIfAborted();
    if (count === WARM_FRAMES) startMs = performance.now();
    if (count++ === WARM_FRAMES + frames) break;
  }
  return (1000 * frames) / (performance.now() - startMs);
}

/** Times sessions that run at the same time, each as fast as it can, on the devices in turn; before that one on the first device. */
export async function benchSessions(
  openSessions: OpenSessions,
  { options, devices, sessions, frames, signal }: SessionsBenchOptions,
): Promise<SessionsBench> {
  const { device: _, threads, ...common } = options;
  const rates = async (count: number, on: readonly string[]): Promise<number[]> => {
    const list = Array.from({ length: count }, () => ({ ...common, pace: "reader" as const, queueFrames: 1 }));
    const opened = await openSessions(list, { devices: on, threads });
    try {
      return await Promise.all(opened.map((session) => timeFrames(session, frames, signal)));
    } finally {
      await Promise.all(opened.map((session) => session.close()));
    }
  };
  const [aloneFps = 0] = await rates(1, devices.slice(0, 1));
  const each = await rates(sessions, devices);
  return { devices, sessions, each, fps: each.reduce((sum, rate) => sum + rate, 0), aloneFps };
}
