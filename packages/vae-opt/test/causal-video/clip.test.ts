import { describe, expect, it } from "vitest";
import { type Clip, checkLargest, takePieces } from "../../src/causal-video/clip";
import { noiseClip, piecesOf } from "./support";

describe("pieces of a clip", () => {
  const clip = noiseClip([5, 96, 96, 3]);

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

  it("are asked for while the one before is taken", async () => {
    const asked: number[] = [];
    async function* pieces(): AsyncGenerator<Clip, void, void> {
      for (const [i, piece] of piecesOf(clip, [1, 2]).entries()) {
        asked.push(i);
        yield piece;
      }
    }
    const counts: number[] = [];
    await takePieces(pieces(), async () => void counts.push(asked.length));
    expect(counts).toEqual([2, 3, 3]);
  });
});

describe("the largest magnitude of what a caller gives", () => {
  const rule = { where: "encode", what: "frames", channels: 3, multiple: 8, most: 8, hint: "Divide." };

  it("may be what it may be", () => {
    for (const found of [0, 1, 8]) expect(() => checkLargest(found, rule)).not.toThrow();
  });

  it.each([
    [9, "got 9"],
    [Number.POSITIVE_INFINITY, "got Infinity"],
    [Number.NaN, "got NaN"],
  ])("is refused where it cannot be: %s", (found, message) => {
    expect(() => checkLargest(found, rule)).toThrow(message);
  });
});
