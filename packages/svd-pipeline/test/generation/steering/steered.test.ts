import { readFileSync } from "node:fs";
import { join } from "node:path";
import { Readable } from "node:stream";
import { beforeAll, describe, expect, it } from "vitest";
import { failureOf } from "../../../../../tooling/testing/failure";
import type { StableVideoDiffusionPipeline } from "../../../src/index";
import type { GenerateOptions, ProgressEvent } from "../../../src/types";
import { psnr, sameBytes } from "../../support/measures";
import { openTiny, QUICK, TINY_SVD } from "../../support/tiny-model";

/** Clips of four frames, of which each takes over two. */
const SHORT = { ...QUICK, clipFrames: 4, overlap: 2 } as const satisfies GenerateOptions;
const LONG = { ...SHORT, numFrames: 7 } as const satisfies GenerateOptions;

let pipeline: StableVideoDiffusionPipeline;
beforeAll(async () => {
  pipeline = await openTiny();
});

/** The clean latents of the wanted frames, [C,h,w] each. */
async function latentsOf(options: GenerateOptions): Promise<Float32Array[]> {
  const { latents, numFrames } = await pipeline.generate({ ...options, outputType: "latent" });
  const length = latents!.length / numFrames;
  return Array.from({ length: numFrames }, (_, i) => latents!.subarray(i * length, (i + 1) * length));
}

describe("a video of several clips", () => {
  it("has all its frames, says where the clips meet, and is the same each time", async () => {
    const events: ProgressEvent[] = [];
    const first = await pipeline.generate({ ...LONG, onProgress: (event) => void events.push(event) });
    expect(first).toMatchObject({ numFrames: 7, fps: 7, seams: [4, 6] });
    expect(first.data).toHaveLength(7 * 32 * 32 * 3);
    const denoised = events.filter(({ stage }) => stage === "denoise");
    expect(denoised.at(-1)).toMatchObject({ step: 6, steps: 6 });
    const second = await pipeline.generate(LONG);
    expect(sameBytes(first.data, second.data)).toBe(true);
  });

  it("begins with the frames of the first clip, which later ones do not touch", async () => {
    const given = { ...LONG, holdColours: 0 };
    const [long, short] = [await latentsOf(given), await latentsOf({ ...given, numFrames: 6 })];
    expect(long.slice(0, 6)).toEqual(short);
    expect(long[6]).not.toEqual(long[5]);
  });

  it("is one clip where the caller wants it so, as diffusers does", async () => {
    const whole = await latentsOf({ ...LONG, clipFrames: 7 });
    const plain = await latentsOf({ ...QUICK, numFrames: 7 });
    expect(whole).toEqual(plain);
    expect(await latentsOf(LONG)).not.toEqual(plain);
  });

  it("is planned with the calls of all clips", async () => {
    const callsOf = async (options: GenerateOptions) =>
      (await pipeline.plan(options)).stages.find(({ name }) => name === "denoise")!.runs;
    expect(await callsOf(LONG)).toBe(3 * QUICK.steps);
    expect(await callsOf({ ...SHORT, numFrames: 4 })).toBe(QUICK.steps);
    // Half of the calls also look back from the end.
    expect(await callsOf({ ...SHORT, numFrames: 4, lastImage: QUICK.image })).toBe(1.5 * QUICK.steps);
  });

  it("says how often the denoiser was called, as planned", async () => {
    const callsOf = async (options: GenerateOptions) => (await pipeline.generate(options)).denoiserCalls.full;
    expect(await callsOf(LONG)).toBe(3 * QUICK.steps);
    expect(await callsOf({ ...SHORT, numFrames: 4, lastImage: QUICK.image })).toBe(1.5 * QUICK.steps);
  });

  it("stops within a step, and the pipeline works again", async () => {
    const stop = new AbortController();
    const seen: number[] = [];
    const onProgress = ({ stage, step }: ProgressEvent) => {
      if (stage !== "denoise") return;
      seen.push(step);
      if (step === 3) stop.abort();
    };
    const error = await failureOf(pipeline.generate({ ...LONG, signal: stop.signal, onProgress }));
    expect(error).toMatchObject({ code: "cancelled", name: "AbortError" });
    expect(seen).toEqual([0, 1, 2, 3].filter((step) => seen.includes(step)));
    expect((await pipeline.generate(LONG)).numFrames).toBe(7);
  });

  it("takes noise that the caller gives", async () => {
    const latents = new Float32Array(7 * 4 * 4 * 4).map((_, i) => Math.sin(i * i));
    const noisy = await latentsOf({ ...LONG, latents });
    expect(noisy).toHaveLength(7);
    expect(noisy).not.toEqual(await latentsOf(LONG));
  });

  it("runs with samplers that add noise, also a GPU's", async () => {
    for (const stepNoise of ["cpu", "cuda"] as const) {
      const latents = await latentsOf({ ...LONG, sampler: "euler_a", stepNoise });
      expect(latents).toHaveLength(7);
    }
  });

  it("runs with a denoiser that runs elsewhere", async () => {
    let opened = 0;
    const closed: string[] = [];
    const other = await openTiny({
      denoiser: {
        name: "test",
        prepare: async () => undefined,
        open: async ({ shape }) => {
          opened++;
          expect(shape.numFrames).toBe(4);
          return {
            predict: async ({ latents }) => latents.map((value) => value / 2),
            close: async () => void closed.push("closed"),
          };
        },
      },
    });
    const video = await other.generate({ ...LONG, lastImage: QUICK.image });
    expect(video.numFrames).toBe(7);
    expect(opened).toBe(4);
    expect(closed).toHaveLength(4);
    other.dispose();
  });
});

describe("a video that is steered", () => {
  it("ends with the last picture", async () => {
    const target = (await pipeline.generate({ ...QUICK, seed: 99, numFrames: 4, motionBucketId: 255 })).frame(3);
    const lastImage = { width: 32, height: 32, data: target };
    const options = { ...SHORT, numFrames: 4, steps: 4 };
    const [free, steered] = [await pipeline.generate(options), await pipeline.generate({ ...options, lastImage })];
    expect(psnr(steered.frame(3), target)).toBeGreaterThan(psnr(free.frame(3), target) + 3);
    expect(steered.numFrames).toBe(4);
  });

  it("goes on from frames that come before", async () => {
    const clip = [...(await pipeline.generate({ ...QUICK, numFrames: 4 }))];
    const options = { ...SHORT, image: clip[3]!, steps: 3 };
    const [alone, on] = [await latentsOf(options), await latentsOf({ ...options, pastFrames: clip.slice(1, 3) })];
    expect(on).toHaveLength(3);
    expect(on).not.toEqual(alone);
  });

  it("goes on from frames that come before where the picture is a stream, which can be read once", async () => {
    const bytes = readFileSync(join(TINY_SVD, "samples/one-ball.png"));
    const given = { ...LONG, pastFrames: [QUICK.image] };
    const [streamed, plain] = [
      await pipeline.generate({ ...given, image: Readable.from([bytes]) }),
      await pipeline.generate({ ...given, image: bytes }),
    ];
    expect(sameBytes(streamed.data, plain.data)).toBe(true);
  });

  it("loops: one seam is between the last frame and the first", async () => {
    const video = await pipeline.generate({ ...SHORT, numFrames: 6, loop: true });
    expect(video.seams).toContain(0);
    expect(video).toMatchObject({ numFrames: 6, fps: 7 });
    const chunks: number[] = [];
    await pipeline.generate({
      ...{ ...SHORT, numFrames: 6, loop: true },
      onFrames: ({ numFrames }) => void chunks.push(numFrames),
    });
    expect(chunks).toEqual([6]);
  });

  it("goes there and back", async () => {
    const video = await pipeline.generate({ ...QUICK, numFrames: 4, boomerang: true });
    expect(video.numFrames).toBe(6);
    expect(sameBytes(video.frame(4), video.frame(2))).toBe(true);
    expect(sameBytes(video.frame(5), video.frame(1))).toBe(true);
    expect(video.floats()).toHaveLength(6 * 3 * 32 * 32);
  });
});

describe("frames between frames", () => {
  it("are the mean of their neighbours' pixels", async () => {
    const [plain, video] = [
      await pipeline.generate(QUICK),
      await pipeline.generate({ ...QUICK, interpolation: "blend" }),
    ];
    expect(video).toMatchObject({ numFrames: 5, fps: 14 });
    expect(sameBytes(video.frame(2), plain.frame(1))).toBe(true);
    const means = plain.frame(0).map((value, i) => Math.round((value + plain.frame(1)[i]!) / 2));
    expect(sameBytes(video.frame(1), means)).toBe(true);
  });

  it.each(["latent", "denoise"] as const)("are made by %s between frames that stay", async (interpolation) => {
    const plain = await latentsOf(QUICK);
    const doubled = await latentsOf({ ...QUICK, interpolation });
    expect(doubled).toHaveLength(5);
    const worst = [0, 1, 2].flatMap((i) => [...doubled[2 * i]!].map((value, k) => Math.abs(value - plain[i]![k]!)));
    // The known frames of a plain clip are denoised on the host here, on the device there.
    expect(Math.max(...worst)).toBeLessThan(0.02);
    if (interpolation === "latent") expect(doubled[1]![5]).toBeCloseTo((plain[0]![5]! + plain[1]![5]!) / 2, 5);
  });

  it.each([
    [1, {}, 1],
    [2, {}, 3],
    [2, { lastImage: QUICK.image }, 3],
    [1, { pastFrames: [QUICK.image] }, 1],
  ])("are made in a video of %d frames too, with %j", async (numFrames, more, doubled) => {
    const video = await pipeline.generate({ ...QUICK, ...more, numFrames, interpolation: "denoise" });
    expect([video.numFrames, video.data.length]).toEqual([doubled, doubled * 32 * 32 * 3]);
    const { stages } = await pipeline.plan({ ...QUICK, ...more, numFrames, interpolation: "denoise" });
    const planned = stages.filter(({ name }) => name.startsWith("denoise")).map(({ runs }) => runs);
    expect(planned).toEqual([video.denoiserCalls.full]);
  });

  it.each(["blend", "latent", "denoise"] as const)("tie a loop together by %s", async (interpolation) => {
    const video = await pipeline.generate({ ...SHORT, numFrames: 6, loop: true, interpolation });
    expect(video).toMatchObject({ numFrames: 12, fps: 14 });
    expect(video.data).toHaveLength(12 * 32 * 32 * 3);
  });
});

describe("steering that makes no sense", () => {
  it.each<[Partial<GenerateOptions>, string]>([
    [{ numFrames: 8, overlap: 4 }, "overlap"],
    [{ loop: true, numFrames: 3 }, "numFrames"],
    [{ loop: true, numFrames: 8, boomerang: true }, "loop"],
    [{ loop: true, numFrames: 8, lastImage: QUICK.image }, "loop"],
    [{ loop: true, numFrames: 8, pastFrames: [QUICK.image] }, "loop"],
    [{ numFrames: 1, lastImage: QUICK.image }, "numFrames"],
    [{ pastFrames: [QUICK.image, QUICK.image, QUICK.image] }, "pastFrames"],
    [{ interpolation: "optical" as "blend" }, "interpolation"],
    [{ holdColours: 2 }, "holdColours"],
    [{ clipFrames: 2 }, "clipFrames"],
  ])("is refused before any work: %o", async (options, where) => {
    const events: unknown[] = [];
    const onProgress = (event: ProgressEvent) => void events.push(event);
    const error = await failureOf(pipeline.generate({ ...SHORT, ...options, onProgress }));
    expect(error).toMatchObject({ code: "attr", where });
    expect(events).toEqual([]);
  });

  it("is refused where a picture cannot be read", async () => {
    for (const options of [{ lastImage: "/no/such.png" }, { pastFrames: ["/no/such.png"] }])
      expect(await failureOf(pipeline.generate({ ...SHORT, ...options }))).toMatchObject({ code: "io" });
  });
});
