import { loadImage } from "@vd/media";
import { CpuGenerator } from "@vd/tensor";
import { beforeAll, describe, expect, it } from "vitest";
import { failureOf } from "../../../../tooling/testing/failure";
import type { DenoiserFactory, StableVideoDiffusionPipeline } from "../../src/index";
import type { GenerateOptions, StepEnd } from "../../src/types";
import { sameBytes } from "../support/measures";
import { openTiny, PICTURE, QUICK } from "../support/tiny-model";

const NUM_LATENTS = 3 * 4 * 4 * 4;

let pipeline: StableVideoDiffusionPipeline;
let wanted: Uint8Array;
let wantedLatents: Float32Array;
beforeAll(async () => {
  pipeline = await openTiny();
  wanted = (await pipeline.generate(QUICK)).data;
  wantedLatents = await latentsOf(QUICK);
});

/** The clean latents, which are made without decoding them. */
async function latentsOf(options: GenerateOptions): Promise<Float32Array> {
  return (await pipeline.generate({ ...options, outputType: "latent" })).latents!;
}

/** The noise that a seed draws for the picture, then for the first latents of some videos. */
function drawnLatents(seed: number, numVideos = 1): Float32Array {
  const random = new CpuGenerator(seed);
  random.randn(3 * QUICK.width * QUICK.height);
  return random.randn(numVideos * NUM_LATENTS);
}

describe("latents that the caller gives", () => {
  it("take the place of those that the seed draws", async () => {
    const latents = drawnLatents(QUICK.seed);
    expect(await latentsOf({ ...QUICK, latents })).toEqual(wantedLatents);
    expect(await latentsOf({ ...QUICK, latents: drawnLatents(8) })).not.toEqual(wantedLatents);
    expect(latents).toEqual(drawnLatents(QUICK.seed));
  });

  it("are refused before any work where they do not fit", async () => {
    const events: unknown[] = [];
    const refused = (latents: unknown) =>
      failureOf(
        pipeline.generate({ ...QUICK, latents: latents as Float32Array, onProgress: (event) => events.push(event) }),
      );
    expect(await refused(new Float32Array(5))).toMatchObject({
      code: "shape",
      where: "latents",
      expected: "192 numbers, [3,4,4,4]",
      got: "5",
    });
    expect((await refused(new Float32Array(NUM_LATENTS).fill(Number.NaN))).expected).toBe("finite latents");
    expect((await refused([1, 2])).code).toBe("attr");
    expect(events).toEqual([]);
  });
});

describe("latents as the result", () => {
  it("are those that would be decoded, and nothing is", async () => {
    const stages: string[] = [];
    let last: Float32Array | undefined;
    const options: GenerateOptions = {
      ...QUICK,
      outputType: "latent",
      onProgress: ({ stage }) => stages.push(stage),
      onStepEnd: ({ latents }) => {
        last = latents;
      },
    };
    const { latents, data, timings } = await pipeline.generate(options);
    expect(latents).toEqual(last);
    expect(latents).toHaveLength(NUM_LATENTS);
    expect(data).toHaveLength(0);
    expect(stages).not.toContain("decode");
    expect(timings).not.toHaveProperty("decode");
    expect((await pipeline.plan(options)).stages.map(({ name }) => name)).not.toContain("decode");
    const kept = latents!.slice();
    await latentsOf({ ...QUICK, seed: 8 });
    expect(latents).toEqual(kept);
  });
});

describe("what is called after each step", () => {
  it("sees every step, and changes nothing where it returns nothing", async () => {
    const seen: StepEnd[] = [];
    const onStepEnd = (step: StepEnd) => {
      seen.push({ ...step, latents: step.latents.slice() });
      step.latents.fill(0);
    };
    expect(sameBytes((await pipeline.generate({ ...QUICK, onStepEnd })).data, wanted)).toBe(true);
    expect(seen.map(({ step, steps }) => [step, steps])).toEqual([
      [1, 2],
      [2, 2],
    ]);
    expect(seen[0]!.timestep).toBeCloseTo(0.25 * Math.log(700), 4);
    expect(seen.every(({ latents }) => latents.length === NUM_LATENTS && latents.some((value) => value !== 0))).toBe(
      true,
    );
  });

  it.each(["euler", "heun", "unipc"] as const)("may hand the same latents back on the device: %s", async (sampler) => {
    const options = { ...QUICK, sampler };
    const plain = await latentsOf(options);
    expect(await latentsOf({ ...options, onStepEnd: async ({ latents }) => latents })).toEqual(plain);
    const halved = ({ latents, step }: StepEnd) => (step === 1 ? latents.map((value) => value / 2) : undefined);
    expect(await latentsOf({ ...options, onStepEnd: halved })).not.toEqual(plain);
  });

  it("decides the result after the last step", async () => {
    const onStepEnd = ({ step, steps }: StepEnd) => (step === steps ? new Float32Array(NUM_LATENTS) : undefined);
    const { latents } = await pipeline.generate({ ...QUICK, outputType: "latent", onStepEnd });
    expect(latents).toEqual(new Float32Array(NUM_LATENTS));
  });

  it("changes the latents of a sampler on the host too", async () => {
    const denoiser: DenoiserFactory = {
      name: "zeros",
      prepare: async () => undefined,
      open: async () => ({
        predict: async ({ latents }) => new Float32Array(latents.length),
        close: async () => undefined,
      }),
    };
    const host = await openTiny({ denoiser });
    const onStepEnd = ({ step }: StepEnd) => (step === 1 ? new Float32Array(NUM_LATENTS) : undefined);
    const { latents } = await host.generate({ ...QUICK, outputType: "latent", onStepEnd });
    expect(latents).toEqual(new Float32Array(NUM_LATENTS));
  });

  it("ends the generation with its own error, and with one of ours for latents that do not fit", async () => {
    const fails = () => {
      throw new Error("enough");
    };
    await expect(pipeline.generate({ ...QUICK, onStepEnd: fails })).rejects.toThrow("enough");
    const error = await failureOf(pipeline.generate({ ...QUICK, onStepEnd: () => new Float32Array(3) }));
    expect(error).toMatchObject({ code: "shape", where: "onStepEnd", got: "3" });
  });
});

describe("a batch", () => {
  it("makes the videos of lists of pictures and seeds in their order, as single generations do", async () => {
    const { image, seed, ...rest } = QUICK;
    const other = PICTURE.replace("one-ball", "two-balls");
    const events: string[] = [];
    const videos = await pipeline.generateBatch({
      ...rest,
      images: [image, other],
      seeds: [seed, 9],
      onProgress: ({ stage, video, videos: count }) => events.push(`${stage} ${video}/${count}`),
    });
    expect(videos.map((video) => video.seed)).toEqual([7n, 9n]);
    expect(sameBytes(videos[0]!.data, wanted)).toBe(true);
    expect(sameBytes(videos[1]!.data, (await pipeline.generate({ ...rest, image: other, seed: 9 })).data)).toBe(true);
    expect(events).toEqual(expect.arrayContaining(["encode 1/2", "decode 1/2", "encode 2/2", "decode 2/2"]));
  });

  it("gives the videos of one picture their parts of the seed's noise, and encodes it once", async () => {
    const { image, seed, ...rest } = QUICK;
    const encoded: (number | undefined)[] = [];
    const onProgress = ({ stage, video }: { stage: string; video?: number }) => {
      if (stage === "encode") encoded.push(video);
    };
    const batch = { ...rest, images: [image], seeds: [seed], videosPerPicture: 2, outputType: "latent" as const };
    const [first, second] = await pipeline.generateBatch({ ...batch, onProgress });
    expect(new Set(encoded)).toEqual(new Set([1]));
    const latents = drawnLatents(seed, 2).slice(NUM_LATENTS);
    expect(first!.latents).toEqual(wantedLatents);
    expect(second!.latents).toEqual(await latentsOf({ ...QUICK, latents }));
  });

  it("draws the noise of each step for all videos of a picture at once, as the reference does", async () => {
    const { image, seed, ...rest } = QUICK;
    const sampled = { ...rest, sampler: "euler_a", outputType: "latent" } as const;
    const batch = { ...sampled, images: [image], seeds: [seed], videosPerPicture: 2 };
    const [first, second] = (await pipeline.generateBatch(batch)).map(({ latents }) => latents!);
    const [again] = await pipeline.generateBatch(batch);
    expect(again!.latents).toEqual(first);
    expect(second).not.toEqual(first);
    // A single video draws its step's noise where the second video's first latents would be.
    expect(await latentsOf({ ...sampled, image, seed })).not.toEqual(first);
  });

  it("takes one seed for all pictures, and one picture for all seeds", async () => {
    const { image, seed, ...rest } = { ...QUICK, outputType: "latent" as const };
    const seeded = await pipeline.generateBatch({ ...rest, images: [image], seeds: [seed, 8n] });
    expect(seeded.map((video) => video.seed)).toEqual([7n, 8n]);
    const pictures = await pipeline.generateBatch({ ...rest, images: [image, image], seeds: [seed] });
    expect(pictures[0]!.latents).toEqual(pictures[1]!.latents);
    expect(seeded[1]!.latents).not.toEqual(seeded[0]!.latents);
  });

  it.each([
    [{ images: [] }, "images"],
    [{ images: "a.png" }, "images"],
    [{}, "images"],
    [{ images: ["a.png", "b.png"], seeds: [1, 2, 3] }, "seeds"],
    [{ images: ["a.png"], seeds: [] }, "seeds"],
    [{ images: ["a.png"], seeds: [-1] }, "seed"],
    [{ images: ["a.png"], videosPerPicture: 0 }, "videosPerPicture"],
    [{ images: ["a.png"], image: "a.png" }, "generateBatch"],
    [{ images: ["a.png"], latents: new Float32Array(3) }, "generateBatch"],
    [{ images: ["a.png"], steps: 0 }, "steps"],
    [undefined, "images"],
  ])("refuses %o before any work", async (options, where) => {
    expect(await failureOf(() => pipeline.generateBatch(options as never))).toMatchObject({ code: "attr", where });
  });

  it("of more than this machine can keep is refused at once", async () => {
    const options = { ...QUICK, images: [PICTURE], seeds: [1], videosPerPicture: 1024, numFrames: 4096 };
    const { image: _, seed: __, ...rest } = { ...options, width: 4096, height: 4096 };
    expect((await failureOf(pipeline.generateBatch(rest))).code).toBe("memory");
  });
});

describe("a picture of floats", () => {
  it("gives the bits of the same picture in bytes, where it has the video's size", async () => {
    const { width, height } = QUICK;
    const area = width * height;
    const levels = (await loadImage(PICTURE)).data.subarray(0, 3 * area);
    const floats = Float32Array.from(
      { length: 3 * area },
      (_, i) => levels[(i % area) * 3 + Math.floor(i / area)]! / 255,
    );
    const bytes = await latentsOf({ ...QUICK, image: { width, height, data: levels } });
    expect(await latentsOf({ ...QUICK, image: { width, height, data: floats } })).toEqual(bytes);
  });

  it.each([
    [{ width: 4, height: 4, data: new Float32Array(47) }, "shape"],
    [{ width: 0, height: 4, data: new Float32Array(0) }, "shape"],
    [{ width: 4, height: 4, data: new Float32Array(48).fill(1.5) }, "attr"],
    [{ width: 4, height: 4, data: new Float32Array(48).fill(Number.NaN) }, "attr"],
  ])("is refused where it does not fit", async (image, code) => {
    expect(await failureOf(pipeline.generate({ ...QUICK, image }))).toMatchObject({ code, where: "image" });
  });
});
