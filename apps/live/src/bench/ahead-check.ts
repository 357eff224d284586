import type { LivePicture, LiveSessionOptions } from "@vd/live";
import type { OpenSession } from "../game/game";

/** How many frames that were begun ahead were held against the same ones made one by one, and how many differ in a bit. */
export interface AheadCheck {
  frames: number;
  differing: number;
}

const FRAMES = 24;

/** Pictures of which none is like another. */
const distinctPictures = (width: number, height: number): LivePicture[] =>
  Array.from({ length: FRAMES }, (_, k) => ({
    ...{ width, height },
    data: Uint8Array.from({ length: 3 * width * height }, (_, i) => (((i * (37 + k)) >> 3) + 5 * k) % 256),
  }));

/** Makes `count` frames of a session. Pictures are pushed one before each frame; where fewer are left than frames, the first one also stands before
 *  those of one by one, and none is pushed before the last ones of frames begun ahead. */
async function play(
  openSession: OpenSession,
  options: LiveSessionOptions,
  count: number,
  signal: AbortSignal,
): Promise<Buffer[]> {
  const session = await openSession({ ...options, pace: "reader" });
  const { ahead = 0 } = options;
  try {
    const pictures = distinctPictures(session.width, session.height);
    const frames = session[Symbol.asyncIterator]();
    const made: Buffer[] = [];
    while (made.length < count) {
      signal.throwIfAborted();
      // What is begun ahead at first begins with the first picture, too.
      const index = ahead > 0 ? made.length : Math.max(0, made.length - (count - FRAMES));
      if (pictures[index]) session.push(pictures[index]);
      const { value } = await frames.next();
      if (!value) break;
      made.push(Buffer.from(value.data.slice()));
    }
    return made;
  } finally {
    await session.close();
  }
}

/** Makes frames of a model of pictures one by one and with `options.ahead` begun ahead, and counts those that differ. Stops at the signal. */
export async function checkAhead(
  openSession: OpenSession,
  options: LiveSessionOptions,
  signal: AbortSignal,
): Promise<AheadCheck> {
  const count = FRAMES + (options.ahead ?? 0);
  const ahead = await play(openSession, options, count, signal);
  const plain = await play(openSession, { ...options, ahead: undefined }, count, signal);
  return { frames: count, differing: plain.filter((frame, i) => !ahead[i]?.equals(frame)).length };
}
