import fc from "fast-check";
import { afterAll, describe, expect, it } from "vitest";
import type { Clip } from "../../src/index";
import { collect, cut, noiseClip, openSmall, piecesOf, worstDifference } from "./support";

const vae = await openSmall();
afterAll(() => vae.close());

const slices = fc.array(fc.integer({ min: 1, max: 20 }), { maxLength: 5 });
const cuts = fc.record({ latents: fc.integer({ min: 1, max: 4 }), framesAtOnce: fc.constantFrom(1, 2, 3, 4, 16) });
/** A whole clip is one piece, then another of all that is left. */
const WHOLE = cut(64, 1024);

describe("a clip in any slices", () => {
  it("decodes to what it decodes to as a whole", async () => {
    const property = fc.asyncProperty(
      fc.integer({ min: 1, max: 7 }),
      slices,
      cuts,
      async (length, ends, { latents, framesAtOnce }) => {
        const clip = noiseClip([length, 2, 3, 4], length);
        const whole = await vae.decode(clip, { plan: WHOLE });
        expect(whole.dims).toEqual([4 * (length - 1) + 1, 16, 24, 3]);
        const sliced = await collect(vae.decodeStream(piecesOf(clip, ends), { plan: cut(latents, framesAtOnce) }));
        expect(worstDifference(sliced.values, whole.values)).toBeLessThanOrEqual(1e-5);
      },
    );
    await fc.assert(property, { seed: 20251122, numRuns: 12 });
  });

  it("encodes to what it encodes to as a whole", async () => {
    const property = fc.asyncProperty(
      fc.integer({ min: 1, max: 15 }),
      slices,
      cuts,
      async (length, ends, { latents, framesAtOnce }) => {
        const clip = noiseClip([length, 16, 24, 3], length);
        const whole = await vae.encode(clip, { plan: WHOLE });
        expect(whole.dims).toEqual([Math.ceil((length - 1) / 4) + 1, 2, 3, 4]);
        const sliced = await collect(vae.encodeStream(piecesOf(clip, ends), { plan: cut(latents, framesAtOnce) }));
        expect(worstDifference(sliced.values, whole.mode)).toBeLessThanOrEqual(1e-5);
      },
    );
    await fc.assert(property, { seed: 20251122, numRuns: 12 });
  });
});

describe("a stream", () => {
  it("yields pieces before its input has ended", async () => {
    let asked = 0;
    async function* latents(): AsyncGenerator<Clip> {
      for (const piece of piecesOf(noiseClip([6, 2, 2, 4]), [1, 2, 3, 4, 5])) {
        asked++;
        yield piece;
      }
    }
    const seen: [asked: number, frames: number][] = [];
    for await (const { dims } of vae.decodeStream(latents(), { plan: cut(1, 4) })) seen.push([asked, dims[0]]);
    expect(seen).toEqual([1, 2, 3, 4, 5, 6].map((count) => [count, count === 1 ? 1 : 4]));
  });

  it("sees no later frames", async () => {
    const clip = noiseClip([4, 2, 2, 4]);
    const changed = { ...clip, values: clip.values.slice() };
    changed.values.fill(0.7, 3 * 16);
    const [before, after] = [await vae.decode(clip), await vae.decode(changed)];
    const seen = 9 * 16 * 16 * 3;
    expect(after.values.slice(0, seen)).toEqual(before.values.slice(0, seen));
    expect(worstDifference(after.values.slice(seen), before.values.slice(seen))).toBeGreaterThan(1e-2);
  });

  it("lets later frames see all that one layer keeps, so that slices without memory would differ", async () => {
    const clip = noiseClip([3, 2, 2, 4]);
    const whole = await vae.decode(clip);
    const alone = await vae.decode(piecesOf(clip, [2])[1]!);
    const [last] = [whole.values.slice(-16 * 16 * 3)];
    expect(worstDifference(alone.values, last!)).toBeGreaterThan(1e-2);
  });

  it("shares nothing with another one that runs meanwhile", async () => {
    const clips = [noiseClip([4, 2, 2, 4], 5), noiseClip([4, 2, 2, 4], 6)];
    const plan = cut(1, 4);
    const alone: Float32Array[] = [];
    for (const clip of clips) alone.push((await vae.decode(clip, { plan })).values);
    const together = await Promise.all(clips.map((clip) => vae.decode(clip, { plan })));
    expect(together.map(({ values }) => values)).toEqual(alone);
  });

  it("fills up last frames that are too few for a latent, or drops them", async () => {
    const clip = noiseClip([7, 16, 16, 3]);
    const whole = noiseClip([9, 16, 16, 3]);
    const size = 16 * 16 * 3;
    whole.values.set(clip.values);
    for (const at of [7, 8]) whole.values.set(clip.values.subarray(6 * size, 7 * size), at * size);
    const filled = await vae.encode(clip);
    expect(filled.mode).toEqual((await vae.encode(whole)).mode);
    const dropped = await vae.encode(clip, { lastFrames: "drop" });
    expect(dropped.dims).toEqual([2, 2, 2, 4]);
    expect(dropped.mode).toEqual(filled.mode.slice(0, 2 * 2 * 2 * 4));
  });

  it("samples by the noise that it is given", async () => {
    const clip = noiseClip([5, 16, 16, 3]);
    const { mode, sample } = await vae.encode(clip);
    const ones = (count: number) => new Float32Array(count).fill(1);
    const sampled = await collect(vae.encodeStream(clip, { noise: ones }));
    expect(sampled.values).toEqual(sample(ones(mode.length)));
    expect(worstDifference(sampled.values, mode)).toBeGreaterThan(0.1);
  });
});

describe("a source of frames", () => {
  /** A clip frame by frame in one array, which is filled anew for each. */
  async function* inOneArray({ values, dims }: Clip): AsyncGenerator<Clip> {
    const [frames, ...frame] = dims;
    const array = new Float32Array(values.length / frames);
    for (let i = 0; i < frames; i++) {
      array.set(values.subarray(i * array.length, (i + 1) * array.length));
      yield { values: array, dims: [1, ...frame] };
    }
  }

  it("may use one array for all pieces, also where several wait until they are enough", async () => {
    const clip = noiseClip([11, 16, 16, 3]);
    const encoded = await collect(vae.encodeStream(inOneArray(clip), { plan: cut(2, 8) }));
    expect(worstDifference(encoded.values, (await vae.encode(clip)).mode)).toBeLessThanOrEqual(1e-5);
    const latents = noiseClip([6, 2, 2, 4]);
    const decoded = await collect(vae.decodeStream(inOneArray(latents), { plan: cut(4, 16) }));
    expect(worstDifference(decoded.values, (await vae.decode(latents)).values)).toBeLessThanOrEqual(1e-5);
  });

  it("that never answers holds up no abort", async () => {
    const controller = new AbortController();
    async function* silent(): AsyncGenerator<Clip> {
      yield noiseClip([1, 2, 2, 4]);
      setImmediate(() => controller.abort());
      await new Promise(() => {});
    }
    const stream = collect(vae.decodeStream(silent(), { signal: controller.signal }));
    await expect(stream).rejects.toMatchObject({ code: "cancelled" });
    expect((await vae.decode(noiseClip([1, 2, 2, 4]))).dims).toEqual([1, 16, 16, 3]);
  });

  it("that fails, and a loop that is left or that fails, leave nothing behind", async () => {
    const clip = noiseClip([6, 2, 2, 4]);
    const before = (await vae.decode(clip)).values;
    async function* failing(): AsyncGenerator<Clip> {
      yield* piecesOf(clip, [1, 2]).slice(0, 2);
      throw new Error("no more frames");
    }
    await expect(collect(vae.decodeStream(failing()))).rejects.toThrow("no more frames");
    for await (const _ of vae.decodeStream(clip, { plan: cut(1, 4) })) break;
    await expect(
      (async () => {
        for await (const _ of vae.decodeStream(clip, { plan: cut(1, 4) })) throw new Error("enough");
      })(),
    ).rejects.toThrow("enough");
    expect((await vae.decode(clip)).values).toEqual(before);
  });
});
