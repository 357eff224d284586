import { Device } from "@vd/kernels-native";
import type { LiveSessionOptions, LiveTimes } from "@vd/live";
import type { OpenSession } from "../game/game";
import { timesOf } from "./times";

/** What frames took, as fast as they are made. */
export interface FrameBench {
  frames: number;
  fps: number;
  /** From the edge at which actions are taken to the finished picture, in milliseconds. */
  frameMs: LiveTimes;
  /** Mean milliseconds a frame by part of the session. */
  parts: Readonly<Record<string, number>>;
  /** What the session takes of a GPU's memory; undefined on the CPU. */
  deviceBytes: number | undefined;
}

/** Frames before the first that is timed. */
const WARM_FRAMES = 20;
/** Frames for which an action is held. */
const HELD_FRAMES = 7;

/** Times `frames` frames of a session that nobody waits for, with its actions taking turns. Stops at the signal. */
export async function benchFrames(
  openSession: OpenSession,
  options: LiveSessionOptions,
  frames: number,
  signal: AbortSignal,
): Promise<FrameBench> {
  const gpu = options.device === "cuda" ? Device.cuda() : undefined;
  await gpu?.prepare();
  const freeBefore = (await gpu?.memory())?.freeBytes;
  const session = await openSession({ ...options, pace: "reader", queueFrames: 1 });
  const times: number[] = [];
  const { actions } = session.model;
  let count = 0;
  let startMs = 0;
  try {
    for await (const frame of session) {
      signal.throwIfAborted();
      if (count === WARM_FRAMES) startMs = performance.now();
      if (count > WARM_FRAMES) times.push(frame.latencyMs);
      if (count % HELD_FRAMES === 0) session.act(actions[(count / HELD_FRAMES) % actions.length]!);
      if (count++ === WARM_FRAMES + frames) break;
    }
    const fps = (1000 * frames) / (performance.now() - startMs);
    const freeAfter = (await gpu?.memory())?.freeBytes;
    const deviceBytes = freeBefore === undefined || freeAfter === undefined ? undefined : freeBefore - freeAfter;
    return { frames, fps, frameMs: timesOf(times), parts: session.stats().parts, deviceBytes };
  } finally {
    await session.close();
  }
}
