import { setTimeout as wait } from "node:timers/promises";
import { afterEach, describe, expect, it, vi } from "vitest";
import { type Clip, collectClip, takePieces } from "../../src/causal-video/clip";
import { noiseClip, piecesOf } from "./support";

afterEach(() => void vi.restoreAllMocks());

/** Gives pieces some time apart. */
async function* slowly(pieces: readonly Clip[], ms: number): AsyncGenerator<Clip, void, void> {
  for (const piece of pieces) {
    await wait(ms);
    yield piece;
  }
}

describe("pieces of a clip", () => {
  const clip = noiseClip([5, 96, 96, 3]);

  it.each([
    ["at once", 0],
    ["slowly", 20],
  ])("are joined as they come: %s", async (_, ms) => {
    for (const ends of [[], [1], [1, 2, 3, 4], [3]])
      expect(await collectClip(slowly(piecesOf(clip, ends), ms), 5)).toEqual(clip);
  });

  it("come to an end where one cannot be taken", async () => {
    let ended = false;
    async function* pieces(): AsyncGenerator<Clip, void, void> {
      try {
        yield* piecesOf(clip, [1, 2]);
      } finally {
        ended = true;
      }
    }
    const refuse = () => Promise.reject(new Error("no room"));
    await expect(takePieces(pieces(), refuse)).rejects.toThrow("no room");
    expect(ended).toBe(true);
  });

  it("find memory that was touched before they came", async () => {
    const fill = vi.spyOn(Float32Array.prototype, "fill");
    let touched = 0;
    async function* pieces(): AsyncGenerator<Clip, void, void> {
      const all = piecesOf(clip, [1]);
      yield all[0]!;
      await wait(50);
      touched = Math.max(...fill.mock.calls.map(([, , end]) => end ?? 0));
      yield all[1]!;
    }
    expect(await collectClip(pieces(), 5)).toEqual(clip);
    expect(touched).toBeGreaterThanOrEqual(clip.values.length);
  });
});
