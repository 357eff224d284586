import { fileURLToPath } from "node:url";
import type { LiveFrame, LiveSession } from "../../src/index";

/** The bundled model in the repository. */
export const TINY_LIVE = fileURLToPath(new URL("../../../../models/tiny-live", import.meta.url));

/** Reads `count` frames; their pictures are copies. */
export async function readFrames(session: LiveSession, count: number): Promise<LiveFrame[]> {
  const frames: LiveFrame[] = [];
  const iterator = session[Symbol.asyncIterator]();
  for (let i = 0; i < count; i++) {
    const { value, done } = await iterator.next();
    if (done) break;
    frames.push({ ...value, data: value.data.slice() });
  }
  return frames;
}

/** Largest difference of two pictures, in levels of 255. */
export function largestDifference(a: Uint8Array, b: Uint8Array): number {
  let largest = 0;
  for (let i = 0; i < a.length; i++) largest = Math.max(largest, Math.abs(a[i]! - b[i]!));
  return largest;
}
