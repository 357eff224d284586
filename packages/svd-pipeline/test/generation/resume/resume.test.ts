import { copyFileSync, existsSync, mkdirSync, readdirSync, readFileSync, truncateSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { Readable } from "node:stream";
import { SafetensorsFile } from "@vd/tensor";
import { beforeAll, describe, expect, it } from "vitest";
import { failureOf } from "../../../../../tooling/testing/failure";
import { type GenerateOptions, removeState, resumeState, type StableVideoDiffusionPipeline } from "../../../src/index";
import { sameBytes } from "../../support/measures";
import { rememberedRuns } from "../../support/remembered-runs";
import { copyOfTiny, openTiny, QUICK, TINY_SVD, temporaryFolder, WEIGHT_FILES } from "../../support/tiny-model";

const OPTIONS = { ...QUICK, steps: 4 } as const;

let pipeline: StableVideoDiffusionPipeline;
const wholeOf = rememberedRuns(() => pipeline);
beforeAll(async () => {
  pipeline = await openTiny();
});

/** Everything that a generation with a state told: steps that it finished, and messages. */
function watched(options: GenerateOptions) {
  const told = { steps: [] as number[], encoded: [] as number[], messages: [] as string[] };
  return {
    told,
    options: {
      ...options,
      onProgress: ({
        stage,
        step,
        stepUs,
        message,
      }: {
        stage: string;
        step: number;
        stepUs?: number;
        message?: string;
      }) => {
        if (stage === "denoise" && stepUs !== undefined) told.steps.push(step);
        if (stage === "encode") told.encoded.push(step);
        if (message !== undefined) told.messages.push(message);
      },
    },
  };
}

/** Begins a generation and stops it after a step. */
async function stopAfter(step: number, options: GenerateOptions): Promise<void> {
  const controller = new AbortController();
  const stopped = pipeline.generate({
    ...options,
    signal: controller.signal,
    onProgress: (event) => {
      if (event.stage === "denoise" && event.step === step) controller.abort();
    },
  });
  expect((await failureOf(stopped)).code).toBe("cancelled");
}

/** Begins a generation and fails at its first decoded chunk after `chunks`. */
async function failWhileDecoding(chunks: number, options: GenerateOptions): Promise<void> {
  let seen = 0;
  const onFrames = () => {
    if (++seen > chunks) throw new Error("enough");
  };
  await expect(pipeline.generate({ ...options, onFrames })).rejects.toThrow("enough");
}

describe("a generation with a state", () => {
  it("gives the bits of one without, and leaves nothing", async () => {
    const resume = join(temporaryFolder(), "state");
    const [plain, kept] = [await wholeOf(OPTIONS), await pipeline.generate({ ...OPTIONS, resume })];
    expect(sameBytes(kept.data, plain.data)).toBe(true);
    expect(existsSync(resume)).toBe(false);
  });

  it.each(["dpmpp_2m", "heun", "ddpm"] as const)(
    "goes on with %s where it was stopped, with the same bits",
    async (sampler) => {
      const options = { ...OPTIONS, sampler };
      const whole = await pipeline.generate(options);
      const resume = join(temporaryFolder(), "state");
      await stopAfter(2, { ...options, resume });
      const { told, options: again } = watched({ ...options, resume });
      const video = await pipeline.generate(again);
      expect(told.steps).toEqual([3, 4]);
      expect(told.encoded).toEqual([0, 2]);
      expect(told.messages).toEqual(["goes on after step 2"]);
      expect(sameBytes(video.data, whole.data)).toBe(true);
      expect(video.floats()).toEqual(whole.floats());
      expect(existsSync(resume)).toBe(false);
    },
  );

  it("goes on with samplers and noise of its options: half precision on the host, a GPU's step noise", async () => {
    for (const more of [
      { stepNoise: "cuda", sampler: "euler_a" },
      { latents: new Float32Array(3 * 4 * 16).fill(0.5) },
    ] as const) {
      const options = { ...OPTIONS, ...more };
      const whole = await pipeline.generate(options);
      const resume = join(temporaryFolder(), "state");
      await stopAfter(1, { ...options, resume });
      expect(sameBytes((await pipeline.generate({ ...options, resume })).data, whole.data)).toBe(true);
    }
  });

  it.each([
    ["features that a later call reuses", { featureInterval: 3 }, 1],
    ["features that the next call makes anew", { featureInterval: 2 }, 2],
    ["skipped calls", { skipThreshold: 0.1 }, 2],
    ["guidance at some noise levels", { guidanceMaxSigma: 10, sampler: "dpmpp_2m" }, 2],
  ] as const)("goes on where calls are saved, with the same bits: %s", async (_, more, after) => {
    const options: GenerateOptions = { ...OPTIONS, ...more };
    const whole = await pipeline.generate(options);
    const resume = join(temporaryFolder(), "state");
    await stopAfter(after, { ...options, resume });
    const { told, options: again } = watched({ ...options, resume });
    const video = await pipeline.generate(again);
    expect(told.steps).toEqual([1, 2, 3, 4].slice(after));
    expect(sameBytes(video.data, whole.data)).toBe(true);
  });

  it.each([
    ["several clips", { numFrames: 5, clipFrames: 3, overlap: 1 }, 2],
    ["several clips, in a later one", { numFrames: 5, clipFrames: 3, overlap: 1, sampler: "ddpm" }, 6],
    ["several clips, between two", { numFrames: 5, clipFrames: 3, overlap: 1, sampler: "dpmpp_2m" }, 4],
    ["a loop, in the clip that ties it together", { numFrames: 5, loop: true, sampler: "heun" }, 5],
    ["a last picture, looking back", { lastImage: QUICK.image, sampler: "ddpm" }, 1],
    ["frames to go on from", { pastFrames: [QUICK.image], clipFrames: 3, overlap: 2 }, 3],
    ["frames between all others", { numFrames: 4, clipFrames: 4, interpolation: "denoise" }, 6],
  ] as const satisfies readonly (readonly [string, Partial<GenerateOptions>, number])[])(
    "goes on in the clip that was under way, with the same bits: %s",
    async (_, more, after) => {
      const plain = watched({ ...OPTIONS, ...more });
      const whole = await pipeline.generate(plain.options);
      const options: GenerateOptions = { ...OPTIONS, ...more, resume: join(temporaryFolder(), "state") };
      await stopAfter(after, options);
      expect(await resumeState(options.resume!)).toMatchObject({ step: after, steps: plain.told.steps.length });
      const { told, options: again } = watched({ ...options, keepState: true });
      const video = await pipeline.generate(again);
      expect(told.steps).toEqual(plain.told.steps.slice(after));
      expect(sameBytes(video.data, whole.data)).toBe(true);
      expect(video.floats()).toEqual(whole.floats());
      const decoded = watched(options);
      expect(sameBytes((await pipeline.generate(decoded.options)).data, whole.data)).toBe(true);
      expect(decoded.told.steps).toEqual([]);
      expect(existsSync(options.resume!)).toBe(false);
    },
  );

  it("computes only what is damaged of clips that were finished", async () => {
    const resume = join(temporaryFolder(), "state");
    const options = { ...OPTIONS, numFrames: 5, clipFrames: 3, overlap: 1, resume };
    const whole = await pipeline.generate({ ...options, resume: undefined });
    await stopAfter(6, options);
    truncateSync(join(resume, "clip-0000.safetensors"), 100);
    const { told, options: again } = watched(options);
    expect(sameBytes((await pipeline.generate(again)).data, whole.data)).toBe(true);
    expect(told.messages[0]).toMatch(/clip-0000/);
    // The clip under way goes on where it was, unless steps of the damaged one had to take its place.
    expect(told.steps.slice(0, 4)).toEqual([1, 2, 3, 4]);
    expect(told.steps.at(-1)).toBe(8);
  });

  it("takes the state's seed, and says how far it has come", async () => {
    const resume = join(temporaryFolder(), "state");
    expect(await resumeState(resume)).toBeUndefined();
    await stopAfter(2, { ...OPTIONS, resume });
    expect(await resumeState(resume)).toEqual({ seed: 7n, step: 2, steps: 4, isDenoised: false });
    const video = await pipeline.generate({ ...OPTIONS, seed: undefined, resume });
    expect(video.seed).toBe(7n);
  });

  it("decodes only the chunks that are missing", async () => {
    const options = { ...OPTIONS, decodeChunk: 1, isolateDecodeChunks: true };
    const whole = await pipeline.generate(options);
    const resume = join(temporaryFolder(), "state");
    await failWhileDecoding(1, { ...options, resume });
    expect(await resumeState(resume)).toMatchObject({ isDenoised: true });
    expect(readdirSync(resume).filter((name) => name.startsWith("frames"))).toHaveLength(2);
    const seen: number[] = [];
    const { told, options: again } = watched({ ...options, resume, onFrames: ({ first }) => void seen.push(first) });
    const video = await pipeline.generate(again);
    expect([told.steps, seen]).toEqual([[], [0, 1, 2]]);
    expect(sameBytes(video.data, whole.data)).toBe(true);
    expect(video.floats()).toEqual(whole.floats());
  });

  it("keeps a finished state until it is told to remove it, and computes nothing again", async () => {
    const resume = join(temporaryFolder(), "state");
    const first = await pipeline.generate({ ...OPTIONS, resume, keepState: true });
    const { told, options } = watched({ ...OPTIONS, resume, keepState: true });
    const second = await pipeline.generate(options);
    expect(told.steps).toEqual([]);
    expect(Object.keys(second.timings)).not.toContain("denoise");
    expect(sameBytes(second.data, first.data)).toBe(true);
    writeFileSync(join(resume, "mine.txt"), "not a part of the state");
    await removeState(resume);
    expect(readdirSync(resume)).toEqual(["mine.txt"]);
    await removeState(join(resume, "nowhere"));
  });

  it("keeps two steps and no more", async () => {
    const resume = join(temporaryFolder(), "state");
    await stopAfter(3, { ...OPTIONS, resume });
    expect(readdirSync(resume).sort()).toEqual([
      ...["picture.safetensors", "state.json", "step-0002.safetensors", "step-0003.safetensors"],
    ]);
  });
});

describe("a state of another generation", () => {
  it("is refused with what differs, and stays", async () => {
    const resume = join(temporaryFolder(), "state");
    await stopAfter(1, { ...OPTIONS, resume });
    const cases = [
      [{ steps: 5 }, "steps 5, not 4"],
      [{ seed: 8 }, "seed 8, not 7"],
      [{ image: { width: 2, height: 2, data: new Uint8Array(12) } }, "another picture"],
      [{ numFrames: 4, fps: 9 }, "numFrames 4, not 3; fps 9, not 7"],
      [{ latents: new Float32Array(3 * 4 * 16) }, "latents where there was none"],
      [{ isolateDecodeChunks: true }, "isolateDecodeChunks true, not false"],
      [{ onStepEnd: () => undefined }, "onStepEnd where there was none"],
    ] as const;
    for (const [changed, difference] of cases) {
      const error = await failureOf(pipeline.generate({ ...OPTIONS, ...changed, resume }));
      expect([error.code, error.where, error.got]).toEqual(["attr", "resume", `another one: ${difference}`]);
      expect(existsSync(join(resume, "step-0001.safetensors"))).toBe(true);
    }
  });

  it("is refused where a file of a further picture has become another one, and takes the same picture in another form", async () => {
    const folder = temporaryFolder();
    const [path, resume] = [join(folder, "last.png"), join(folder, "state")];
    copyFileSync(join(TINY_SVD, "samples/one-ball.png"), path);
    const options = { ...OPTIONS, lastImage: path, pastFrames: [path], overlap: 2, clipFrames: 3, resume };
    await stopAfter(1, options);
    const bytes = readFileSync(path);
    copyFileSync(join(TINY_SVD, "samples/two-balls.png"), path);
    expect((await failureOf(pipeline.generate(options))).got).toBe(
      "another one: another last picture; another frames before",
    );
    const same = { lastImage: Readable.from([bytes]), pastFrames: [new Blob([bytes])] };
    const { told, options: again } = watched({ ...options, ...same });
    await pipeline.generate(again);
    expect(told.steps[0]).toBe(2);
  });

  it("is refused by a model of which one tensor is another", async () => {
    const resume = join(temporaryFolder(), "state");
    await stopAfter(1, { ...OPTIONS, resume });
    const model = copyOfTiny();
    const path = join(model, WEIGHT_FILES.unet);
    const bytes = readFileSync(path);
    using file = SafetensorsFile.open(path);
    const { byteOffset, byteLength } = file.entry("mid_block.attentions.0.proj_in.weight");
    bytes.fill(0, byteOffset, byteOffset + byteLength);
    writeFileSync(path, bytes);
    const other = await openTiny({}, model);
    const error = await failureOf(other.generate({ ...OPTIONS, resume }));
    expect(error.got).toBe("another one: another model");
    other.dispose();
  });

  it("does not mind what changes no bit", async () => {
    const resume = join(temporaryFolder(), "state");
    await stopAfter(1, { ...OPTIONS, resume });
    const more = { memory: "low", decodeChunk: 1, previewEvery: 1, onPreview: () => undefined } as const;
    const video = await pipeline.generate({ ...OPTIONS, ...more, resume });
    expect(sameBytes(video.data, (await wholeOf(OPTIONS)).data)).toBe(true);
  });
});

describe("a damaged state", () => {
  const damage: Record<string, (path: string) => void> = {
    "one bit": (path) => {
      const bytes = readFileSync(path);
      bytes[bytes.length - 5]! ^= 1;
      writeFileSync(path, bytes);
    },
    "its end cut off": (path) => truncateSync(path, 1000),
    "nothing in it": (path) => truncateSync(path, 0),
  };

  it.each(Object.keys(damage))("falls back to the step before: %s", async (kind) => {
    const resume = join(temporaryFolder(), "state");
    await stopAfter(3, { ...OPTIONS, resume });
    damage[kind]!(join(resume, "step-0003.safetensors"));
    const { told, options } = watched({ ...OPTIONS, resume });
    const video = await pipeline.generate(options);
    expect(told.messages[0]).toContain(`step-0003.safetensors of the state in ${resume} is damaged (`);
    expect(told.steps).toEqual([3, 4]);
    expect(sameBytes(video.data, (await wholeOf(OPTIONS)).data)).toBe(true);
  });

  it("goes on with the records where the head is damaged, and begins anew where they do not fit", async () => {
    const resume = join(temporaryFolder(), "state");
    await stopAfter(2, { ...OPTIONS, resume });
    writeFileSync(join(resume, "state.json"), "{");
    const same = watched({ ...OPTIONS, resume, keepState: true });
    await pipeline.generate(same.options);
    expect(same.told.messages[0]).toContain("state.json of the state in");
    expect(same.told.steps).toEqual([3, 4]);
    writeFileSync(join(resume, "state.json"), "{");
    const other = watched({ ...OPTIONS, seed: 9, resume });
    const video = await pipeline.generate(other.options);
    expect(other.told.steps).toEqual([1, 2, 3, 4]);
    expect(other.told.messages.some((text) => text.includes("belongs to another generation"))).toBe(true);
    expect(sameBytes(video.data, (await pipeline.generate({ ...OPTIONS, seed: 9 })).data)).toBe(true);
  });
});

describe("the folder of a state", () => {
  it("is one generation's at a time", async () => {
    const resume = join(temporaryFolder(), "state");
    const other = await openTiny();
    let isUnderWay = () => {};
    const underWay = new Promise<void>((resolve) => {
      isUnderWay = resolve;
    });
    const first = pipeline.generate({ ...OPTIONS, resume, onProgress: isUnderWay });
    await underWay;
    const error = await failureOf(other.generate({ ...OPTIONS, resume }));
    expect([error.code, error.where]).toEqual(["io", "resume"]);
    expect(error.got).toContain(`process ${process.pid}`);
    await first;
    other.dispose();
  });

  it("is refused in a sentence where it cannot be one", async () => {
    const path = join(temporaryFolder(), "file");
    writeFileSync(path, "");
    const error = await failureOf(pipeline.generate({ ...OPTIONS, resume: path }));
    expect([error.code, error.where]).toEqual(["io", "resume"]);
    expect((await failureOf(pipeline.generate({ ...OPTIONS, resume: "" }))).code).toBe("attr");
  });

  it("costs nothing but the state where it cannot be written", async () => {
    const resume = join(temporaryFolder(), "state");
    // No file takes the place of a folder: the writing fails at its last moment.
    mkdirSync(join(resume, "step-0002.safetensors", "in the way"), { recursive: true });
    const { told, options } = watched({ ...OPTIONS, resume, keepState: true });
    const video = await pipeline.generate(options);
    expect(told.messages.filter((text) => /^The state in .* was not written \(/.test(text))).toHaveLength(1);
    expect(sameBytes(video.data, (await wholeOf(OPTIONS)).data)).toBe(true);
    expect(readdirSync(resume).filter((name) => name.endsWith(".tmp"))).toEqual([]);
  });

  it("is cleaned of what a killed process has left", async () => {
    const resume = join(temporaryFolder(), "state");
    mkdirSync(resume);
    writeFileSync(join(resume, ".step-0003.safetensors.01234567.tmp"), "half");
    writeFileSync(join(resume, "lock.01234567"), "old");
    await stopAfter(1, { ...OPTIONS, resume });
    expect(readdirSync(resume).sort()).toEqual(["picture.safetensors", "state.json", "step-0001.safetensors"]);
  });
});

describe("a batch with states", () => {
  it("goes on with the video that was stopped", async () => {
    const resume = join(temporaryFolder(), "states");
    const { image, seed: _, ...rest } = OPTIONS;
    const batch = { ...rest, images: [image], seeds: [7, 8], videosPerPicture: 2 };
    expect((await failureOf(pipeline.generateBatch({ ...batch, seeds: undefined, resume }))).where).toBe("seeds");
    const whole = await pipeline.generateBatch(batch);
    const controller = new AbortController();
    const stopped = pipeline.generateBatch({
      ...{ ...batch, resume, signal: controller.signal },
      onProgress: ({ video, stage, step }) => {
        if (video === 2 && stage === "denoise" && step === 1) controller.abort();
      },
    });
    expect((await failureOf(stopped)).code).toBe("cancelled");
    const steps: string[] = [];
    const videos = await pipeline.generateBatch({
      ...{ ...batch, resume },
      onProgress: ({ video, stage, step, stepUs }) => {
        if (stage === "denoise" && stepUs !== undefined) steps.push(`${video}:${step}`);
      },
    });
    expect(steps.slice(0, 3)).toEqual(["2:2", "2:3", "2:4"]);
    for (const [i, { data }] of videos.entries()) expect(sameBytes(data, whole[i]!.data)).toBe(true);
    expect(existsSync(resume)).toBe(false);
  });
});
