import { Device } from "@vd/kernels-native";
import type { LiveModelInfo, LivePicture, LiveSessionOptions, LiveTimes } from "@vd/live";
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
  /** Learned numbers of the model, and products and sums of a frame's networks in 10⁹; undefined where they are not counted. */
  parameters?: number;
  gigaflop?: number;
  /** What the session takes of a GPU's memory; undefined on the CPU. */
  deviceBytes: number | undefined;
}

/** Frames before the first that is timed. */
const WARM_FRAMES = 20;
/** Frames for which an action is held. */
const HELD_FRAMES = 7;

/** Two pictures that differ everywhere, so that no frame is spared. */
const testPictures = (width: number, height: number): LivePicture[] =>
  [0, 128].map((shift) => ({
    ...{ width, height },
    data: Uint8Array.from({ length: 3 * width * height }, (_, i) => (shift + i * 37) % 256),
  }));

/** Times `frames` frames of a session that nobody waits for, with its actions taking turns, or with
 *  pictures pushed into it. Stops at the signal. onOpen: hears of the model before the first frame, and may refuse it. */
export async function benchFrames(
  openSession: OpenSession,
  options: LiveSessionOptions,
  frames: number,
  signal: AbortSignal,
  onOpen?: (model: LiveModelInfo) => void,
): Promise<FrameBench> {
  const gpu = options.device === "cuda" ? Device.cuda() : undefined;
  await gpu?.prepare();
  // Weights that a session before this one left there would not be counted.
  await gpu?.trim();
  const freeBefore = (await gpu?.memory())?.freeBytes;
  const session = await openSession({ ...options, pace: "reader", queueFrames: 1 });
  const times: number[] = [];
  const { actions, kind } = session.model;
  let count = 0;
  let startMs = 0;
  try {
    onOpen?.(session.model);
    const pictures = kind === "pictures" ? testPictures(session.width, session.height) : [];
    if (pictures[0]) session.push(pictures[0]);
    for await (const frame of session) {
      signal.throwIfAborted();
      if (count === WARM_FRAMES) startMs = performance.now();
      if (count > WARM_FRAMES) times.push(frame.latencyMs);
      if (pictures.length > 0) session.push(pictures[count % pictures.length]!);
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
