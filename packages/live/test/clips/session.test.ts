import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { StableVideoDiffusionPipeline } from "@vd/svd-pipeline";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { failureOf } from "../../../../tooling/testing/failure";
import {
  createLiveSession,
  createLiveSessions,
  isClipModel,
  type LiveFrame,
  type LiveSession,
  type LiveSessionOptions,
} from "../../src/index";
import { STABLE_DIFFUSION, slope } from "../support/stable-diffusion";

const TINY_SVD = fileURLToPath(new URL("../../../../models/tiny-svd", import.meta.url));
const PICTURE = join(TINY_SVD, "samples/one-ball.png");
const OTHER = join(TINY_SVD, "samples/two-balls.png");
/** Clips of four frames, each of which takes over two, in a fraction of a second. */
const SHORT: LiveSessionOptions = {
  ...{ size: { width: 32, height: 32 }, clips: { frames: 4, overlap: 2 }, picture: PICTURE },
  ...{ steps: 2, guidanceScale: 1, seed: 7, pace: "reader", queueFrames: 1 },
};

let pipeline: StableVideoDiffusionPipeline;
beforeAll(async () => {
  pipeline = await StableVideoDiffusionPipeline.fromPretrained(TINY_SVD, { threads: 2 });
});
afterAll(() => pipeline.dispose());

const open = (options: LiveSessionOptions = {}) => createLiveSession({ model: pipeline, ...SHORT, ...options });

/** The next frames, with pixels of their own. */
async function read(session: LiveSession, count: number): Promise<LiveFrame[]> {
  const frames: LiveFrame[] = [];
  const reader = session[Symbol.asyncIterator]();
  for (let i = 0; i < count; i++) {
    const { value } = await reader.next();
    frames.push({ ...value, data: value.data.slice() });
  }
  return frames;
}

const pixelsOf = (frames: readonly LiveFrame[]) => frames.map(({ data }) => data);

describe("a session of clips", () => {
  it("goes on from clip to clip and is the same each time", async () => {
    const session = await open({ drift: { everyFrames: 3 } });
    expect(session.model).toMatchObject({ kind: "clips", fps: 7, actions: ["none"] });
    const frames = await read(session, 9);
    expect(frames.map(({ index, steps, repeated }) => [index, steps, repeated])).toEqual(
      Array.from({ length: 9 }, (_, i) => [i, 2, false]),
    );
    expect(new Set(pixelsOf(frames).map((data) => Buffer.from(data).toString("hex"))).size).toBe(9);
    expect(frames.map(({ drift }) => drift?.frame)).toEqual([
      0,
      undefined,
      undefined,
      3,
      undefined,
      undefined,
      6,
      undefined,
      undefined,
    ]);
    expect(frames[6]!.drift!.collapse).toBeLessThan(0.5);
    const { parts, drift, frames: count } = session.stats();
    expect(Object.keys(parts)).toEqual(expect.arrayContaining(["wait", "clip.denoise", "clip.decode", "output"]));
    expect([drift?.frame, count]).toEqual([6, 9]);
    await session.close();
    const again = await open();
    expect(pixelsOf(await read(again, 9))).toEqual(pixelsOf(frames));
    await again.close();
    // The caller's pipeline stays open.
    expect((await pipeline.plan({ image: PICTURE })).peakBytes).toBeGreaterThan(0);
  });

  it("takes what is set at the edge of the clip that is begun next", async () => {
    const plain = await open();
    const expected = pixelsOf(await read(plain, 8));
    await plain.close();
    for (const change of [{ motion: 255 }, { seed: 3n, steps: 3 }, { guidanceScale: 2, picture: OTHER }]) {
      const session = await open();
      // The first frame is that of a clip that plays; the clip after it is begun already.
      const first = await read(session, 1);
      await session.set(change);
      const frames = pixelsOf([...first, ...(await read(session, 7))]);
      expect(
        frames.slice(0, 6),
        JSON.stringify(change, (_, value) => String(value)),
      ).toEqual(expected.slice(0, 6));
      expect(frames.slice(6)).not.toEqual(expected.slice(6));
      await session.close();
    }
  });

  it("begins anew with a picture that is pushed", async () => {
    const session = await open();
    await read(session, 1);
    session.push(slope(200));
    await read(session, 1);
    const frames = await read(session, 6);
    // Frames 4 and 5 are of the clip that was under way; then the picture of slopes moves.
    const [before, after] = [frames[3]!, frames[4]!].map(({ data }) => data.filter((_, i) => i % 3 === 0));
    const mean = (values: Uint8Array) => values.reduce((sum, value) => sum + value, 0) / values.length;
    expect(Math.abs(mean(after!) - mean(before!))).toBeGreaterThan(20);
    await session.close();
  });

  it("refuses a snapshot that is broken, whatever it says, and goes on as if nothing was asked for", async () => {
    const [session, untouched] = [await open(), await open()];
    await read(session, 5);
    await read(untouched, 5);
    const snapshot = await session.snapshot();
    const { before } = snapshot.clips!;
    const changes: unknown[] = [5, null, [], { imgae: 1 }, { image: 5 }, { image: slope(9, 8) }, { steps: -4 }];
    const faults: object[] = [
      ...changes.map((change) => ({ changes: [change] })),
      ...[{ changes: 5 }, { changes: [{ motionBucketId: "9" }] }, { changes: [{ seed: 1.5 }] }],
      ...[{ passed: -1 }, { before: {} }, { before: null }, { before: { ...before, scene: 5 } }],
    ];
    for (const fault of faults) {
      const clips = { ...snapshot.clips, ...fault } as never;
      expect(await failureOf(session.restore({ ...snapshot, clips }))).toMatchObject({ code: "attr" });
    }
    expect(pixelsOf(await read(session, 6))).toEqual(pixelsOf(await read(untouched, 6)));
    for (const each of [session, untouched]) await each.close();
  });

  it("goes on from a snapshot in the middle of a clip, with what was told before", async () => {
    const session = await open();
    await read(session, 5);
    await session.set({ motion: 255 });
    const snapshot = structuredClone(await session.snapshot());
    const expected = await read(session, 6);
    await session.restore(snapshot);
    const again = await read(session, 6);
    expect(pixelsOf(again)).toEqual(pixelsOf(expected));
    expect(again[0]!.index).toBe(5);
    const other = await open({ seed: 1 });
    await other.restore(snapshot);
    expect(pixelsOf(await read(other, 6))).toEqual(pixelsOf(expected));
    expect((await failureOf(other.restore({ ...snapshot, clips: undefined }))).message).toContain("clips");
    const begun = await open();
    const fresh = await begun.snapshot();
    const first = await read(begun, 3);
    await begun.restore(fresh);
    expect(pixelsOf(await read(begun, 3))).toEqual(pixelsOf(first));
    await begun.restart();
    await begun.restart([slope(9)]);
    expect(pixelsOf(await read(begun, 1))).not.toEqual(pixelsOf(first.slice(0, 1)));
    for (const each of [session, other, begun]) await each.close();
  });

  it("closes within a step of a clip, and when its signal fires", { retry: 2 }, async () => {
    const session = await open({ steps: 50 });
    const reading = session[Symbol.asyncIterator]().next();
    await new Promise((resolve) => setTimeout(resolve, 50));
    const begun = performance.now();
    await session.close();
    expect(performance.now() - begun).toBeLessThan(1500);
    expect((await reading).done).toBe(true);
    const stop = new AbortController();
    const watched = await open({ steps: 50, signal: stop.signal });
    const waiting = watched[Symbol.asyncIterator]().next();
    stop.abort();
    expect((await failureOf(waiting)).code).toBe("cancelled");
    await watched.close();
  });

  it("opens folders, by several devices too, and refuses what it does not have", async () => {
    expect(await isClipModel(TINY_SVD)).toBe(true);
    expect(await isClipModel(STABLE_DIFFUSION)).toBe(false);
    expect(await isClipModel(PICTURE)).toBe(false);
    const sessions = await createLiveSessions(
      [SHORT, SHORT].map((each) => ({ ...each, model: TINY_SVD })),
      {
        devices: ["cpu", "cpu"],
        threads: 2,
      },
    );
    const [a, b] = await Promise.all(sessions.map((session) => read(session, 5)));
    expect(pixelsOf(a!)).toEqual(pixelsOf(b!));
    await Promise.all(sessions.map((session) => session.close()));
    const refused: [LiveSessionOptions, string][] = [
      [{ picture: undefined }, "picture"],
      [{ picture: "none.png" }, "none.png"],
      [{ prompt: "a cat" }, "prompt"],
      [{ cache: true }, "cache"],
      [{ adaptive: true }, "adaptive"],
      [{ policy: "fewer-steps" }, "policy"],
      [{ motion: -1 }, "motion"],
      [{ clips: { frames: 4, overlap: 4 } }, "overlap"],
      [{ size: { width: 30, height: 32 } }, "width"],
    ];
    for (const [options, name] of refused) expect((await failureOf(open(options))).message).toContain(name);
    expect((await failureOf(createLiveSession({ policy: "slow-down" }))).message).toContain("policy");
    expect((await failureOf(createLiveSession({ motion: 5 }))).message).toContain("motion");
    const session = await open();
    expect((await failureOf(session.set({ picture: "none.png" }))).code).toBe("io");
    await session.close();
    const game = await createLiveSession({ pace: "reader" });
    expect((await failureOf(game.set({ seed: 3 }))).message).toContain("seed");
    await game.close();
  });
});
