import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { failureOf } from "../../../../../tooling/testing/failure";
import type { EndlessClip, EndlessOptions, EndlessVideo, StableVideoDiffusionPipeline } from "../../../src/index";
import { openTiny, PICTURE, QUICK, TINY_SVD } from "../../support/tiny-model";

const { width, height, steps, seed, image } = QUICK;
/** Clips of four frames, of which each takes over two. */
const SHORT = { image, width, height, steps, seed, clipFrames: 4, overlap: 2 } as const satisfies EndlessOptions;
const OTHER = join(TINY_SVD, "samples", "one-ball-pinwheel.png");

let pipeline: StableVideoDiffusionPipeline;
beforeAll(async () => {
  pipeline = await openTiny();
});
afterAll(() => pipeline.dispose());

async function clipsOf(video: EndlessVideo, count: number): Promise<EndlessClip[]> {
  const clips: EndlessClip[] = [];
  for (let i = 0; i < count; i++) clips.push(await video.nextClip());
  return clips;
}

/** Mean difference of bytes. */
const difference = (a: Uint8Array, b: Uint8Array) =>
  a.reduce((sum, value, i) => sum + Math.abs(value - b[i]!), 0) / a.length;

describe("a video without an end", () => {
  it("begins as a generation does and goes on without a jump, clip by clip", async () => {
    const video = await pipeline.endless(SHORT);
    const clips = await clipsOf(video, 4);
    await video.close();
    expect(clips.map(({ first, numFrames, beginsAnew }) => [first, numFrames, beginsAnew])).toEqual([
      [0, 4, true],
      [4, 2, false],
      [6, 2, false],
      [8, 2, false],
    ]);
    const plain = await pipeline.generate({ ...QUICK, numFrames: 4, clipFrames: 4 });
    // The colours of the first clip are held too, which a clip by itself has no reason for.
    expect(difference(clips[0]!.frames, plain.data)).toBeLessThan(6);
    const all = clips.flatMap(({ frames, numFrames }) =>
      Array.from({ length: numFrames }, (_, i) =>
        frames.subarray(i * 3 * width * height, (i + 1) * 3 * width * height),
      ),
    );
    const motion = all.slice(1).map((frame, i) => difference(frame, all[i]!));
    expect(Math.max(...motion)).toBeLessThan(25);
    expect(new Set(motion).size).toBe(motion.length);
  });

  it("is the same each time, and goes on from a stored state", async () => {
    const video = await pipeline.endless(SHORT);
    const before = structuredClone(video.state());
    const first = await clipsOf(video, 2);
    const middle = structuredClone(video.state());
    const [third] = await clipsOf(video, 1);
    video.restore(before);
    expect((await clipsOf(video, 2)).map(({ frames }) => frames)).toEqual(first.map(({ frames }) => frames));
    await video.close();
    const again = await pipeline.endless({ ...SHORT, seed: 1 });
    again.restore(middle);
    const after = await again.nextClip();
    expect(after.frames).toEqual(third!.frames);
    expect(after).toMatchObject({ index: 2, first: 6 });
    await again.close();
  });

  it("takes changes at a clip's edge: a picture, motion, guidance, steps, a seed", async () => {
    const video = await pipeline.endless(SHORT);
    await video.nextClip();
    const state = structuredClone(video.state());
    const from = async (changes: Parameters<EndlessVideo["nextClip"]>[0]) => {
      video.restore(state);
      return video.nextClip(changes);
    };
    const same = await from({});
    const results = [
      same,
      await from({ motionBucketId: 255 }),
      await from({ minGuidance: 1, maxGuidance: 1 }),
      await from({ steps: 3 }),
      await from({ seed: 99 }),
    ];
    expect(new Set(results.map(({ frames }) => Buffer.from(frames).toString("hex"))).size).toBe(results.length);
    expect(results.map((clip) => clip.steps)).toEqual([2, 2, 2, 3, 2]);
    const cut = await from({ image: OTHER });
    expect(cut).toMatchObject({ beginsAnew: true, numFrames: 4, first: 4 });
    // What was told stays.
    await from({ motionBucketId: 255 });
    expect(video.state().settings.motionBucketId).toBe(255);
    await video.close();
  });

  it("stops within a step and leaves everything as it was", async () => {
    const video = await pipeline.endless(SHORT);
    await video.nextClip();
    const state = structuredClone(video.state());
    const stop = new AbortController();
    const stopped = video.nextClip({ steps: 200, seed: 5 }, stop.signal);
    setTimeout(() => stop.abort(), 60);
    expect((await failureOf(stopped)).code).toBe("cancelled");
    expect(video.state()).toEqual(state);
    const after = await video.nextClip();
    const again = await pipeline.endless(SHORT);
    await again.nextClip();
    expect(after.frames).toEqual((await again.nextClip()).frames);
    await video.close();
    await again.close();
    expect((await failureOf(video.nextClip())).message).toContain("closed");
  });

  it("refuses what cannot go on, and states of something else", async () => {
    expect((await failureOf(pipeline.endless({ ...SHORT, overlap: 4 }))).message).toContain("overlap");
    expect((await failureOf(pipeline.endless({ ...SHORT, image: "none.png" }))).code).toBe("io");
    const video = await pipeline.endless(SHORT);
    await video.nextClip();
    const state = structuredClone(video.state());
    const { scene } = state;
    const wrong = [
      undefined,
      { ...state, numClips: -1 },
      { ...state, settings: { ...state.settings, steps: Number.NaN } },
      { ...state, noise: undefined },
      { ...state, scene: { ...scene, known: new Float32Array(3) } },
      { ...state, scene: { ...scene, colours: scene!.colours.map(() => Number.NaN) } },
      { ...state, scene: { ...scene, last: undefined } },
      { ...state, scene: undefined },
    ];
    for (const each of wrong) expect(() => video.restore(each as never)).toThrow(/endless video/);
    await video.close();
  });

  it("takes a picture in bytes, and fits it", async () => {
    const video = await pipeline.endless({ ...SHORT, image: await readFile(PICTURE) });
    expect((await video.nextClip()).frames).toHaveLength(4 * 3 * width * height);
    await video.close();
  });
});
