import { join } from "node:path";
import { Device, VdError } from "@vd/kernels-native";
import { afterEach, beforeAll, describe, expect, it, vi } from "vitest";
import { failureOf } from "../../../../tooling/testing/failure";
import { maxDifference } from "../../../../tooling/testing/pictures";
import type { GenerationContext } from "../../src/generation/context";
import { Generation } from "../../src/generation/generation";
import type { GeneratedVideo, GenerateOptions, StableVideoDiffusionPipeline } from "../../src/index";
import { sameBytes } from "../support/measures";
import { openTiny, QUICK, temporaryFolder } from "../support/tiny-model";

const OPTIONS = { ...QUICK, numFrames: 5, maxGuidance: 3 } satisfies GenerateOptions;
const cpus = (count: number) => Array.from({ length: count }, () => "cpu");

let alone: StableVideoDiffusionPipeline;
let two: StableVideoDiffusionPipeline;
let whole: GeneratedVideo;
beforeAll(async () => {
  alone = await openTiny();
  two = await openTiny({ devices: cpus(2) });
  whole = await alone.generate(OPTIONS);
});
afterEach(() => vi.restoreAllMocks());

describe("a generation on two devices", () => {
  it("gives the frames of one, and the same ones again", async () => {
    const video = await two.generate(OPTIONS);
    expect(maxDifference(video.floats(), whole.floats())).toBeLessThan(1e-4);
    expect(maxDifference(video.data, whole.data)).toBeLessThanOrEqual(1);
    expect(sameBytes((await two.generate(OPTIONS)).data, video.data)).toBe(true);
  });

  it("denoises to the same bits: rows of a batch do not know each other", async () => {
    for (const changes of [{}, { sampler: "euler_a" }, { sampler: "dpmpp_2m", stepNoise: "cuda" }] as const) {
      const options = { ...OPTIONS, steps: 2, ...changes, outputType: "latent" } as const;
      const [expected, made] = [await alone.generate(options), await two.generate(options)];
      expect(made.latents).toEqual(expected.latents);
    }
  });

  it.each(["euler", "dpmpp_2m"] as const)(
    "goes on with %s where it was stopped, with the same bits",
    async (sampler) => {
      const options = { ...OPTIONS, steps: 3, sampler, outputType: "latent" } as const;
      const expected = await two.generate(options);
      const resume = join(temporaryFolder(), "state");
      const controller = new AbortController();
      const onProgress = ({ stage, step }: { stage: string; step: number }) => {
        if (stage === "denoise" && step === 2) controller.abort();
      };
      await failureOf(two.generate({ ...options, resume, signal: controller.signal, onProgress }));
      const steps: number[] = [];
      const video = await two.generate({
        ...options,
        resume,
        onProgress: ({ stage, step, stepUs }) => void (stage === "denoise" && stepUs !== undefined && steps.push(step)),
      });
      expect(steps).toEqual([3]);
      expect(video.latents).toEqual(expected.latents);
    },
  );

  it("takes what a callback puts in the latents' place on both devices", async () => {
    const seen: number[][] = [[], []];
    const onStepEnd =
      (list: number[]) =>
      ({ step, latents }: { step: number; latents: Float32Array }) => {
        list.push(latents[7]!);
        return step === 1 ? latents.map((value) => value * 0.5) : undefined;
      };
    const options = { ...OPTIONS, outputType: "latent" } as const;
    await alone.generate({ ...options, onStepEnd: onStepEnd(seen[0]!) });
    await two.generate({ ...options, onStepEnd: onStepEnd(seen[1]!) });
    expect(seen[0]!.length).toBe(2);
    expect(seen[1]).toEqual(seen[0]);
  });

  it("works without guidance, with one frame, in chunks of its own and with previews", async () => {
    const shown: number[] = [];
    const onPreview = ({ frames }: { frames: Uint8Array }) => void shown.push(frames.length);
    for (const changes of [
      { maxGuidance: 1, decodeChunk: 1 },
      { numFrames: 1 },
      { decodeChunk: 3, isolateDecodeChunks: true, onPreview, previewEvery: 1 },
    ]) {
      const options = { ...OPTIONS, steps: 2, width: 32, ...changes };
      const [expected, made] = [
        await alone.generate({ ...options, onPreview: undefined }),
        await two.generate(options),
      ];
      expect(maxDifference(made.data, expected.data)).toBeLessThanOrEqual(1);
    }
    expect(shown).toEqual([32 * 32 * 3]);
  });

  it("makes a batch and counts the memory of the device that takes most", async () => {
    const peakOf = async (pipeline: StableVideoDiffusionPipeline) => {
      const [video] = await pipeline.generateBatch({
        images: [OPTIONS.image],
        ...{ width: 32, height: 32, numFrames: 5, steps: 2, seeds: [7] },
      });
      return video!.peakBytes;
    };
    const one = await peakOf(await openTiny());
    const most = await peakOf(await openTiny({ devices: cpus(2) }));
    // At this size it is packed weights, which each of them has; filters are packed in more than one way where maps differ in size.
    expect(most).toBeGreaterThan(one / 2);
    expect(most).toBeLessThan(1.2 * one);
  });
});

it("takes any number of devices: two denoise, all decode", async () => {
  const four = await openTiny({ devices: cpus(4), threads: 4 });
  const video = await four.generate(OPTIONS);
  expect(maxDifference(video.data, whole.data)).toBeLessThanOrEqual(1);
  four.dispose();
});

describe("a device that is lost", () => {
  const lost = () =>
    new VdError({ code: "driver", where: "denoise", expected: "a working device", got: "one that was lost" });
  /** Makes the `count`-th run on the second device fail. */
  function losesSecond(count: number): void {
    const compile = Device.prototype.compile;
    const devices: Device[] = [];
    let runs = 0;
    vi.spyOn(Device.prototype, "compile").mockImplementation(async function (this: Device, ...args) {
      if (!devices.includes(this)) devices.push(this);
      const program = await compile.apply(this, args);
      const [run, queue] = [program.run.bind(program), program.queue.bind(program)];
      const isSecond = () =>
        (two as unknown as { opened: { team: { members: { device: Device }[] } } }).opened.team.members[1]!.device ===
        this;
      const failAtCount = () => {
        if (isSecond() && ++runs === count) throw lost();
      };
      program.run = async (options) => {
        failAtCount();
        return run(options);
      };
      program.queue = async (options) => {
        failAtCount();
        return queue(options);
      };
      return program;
    });
  }

  it.each([4, 14])("at its run %i is named; the process, the other device and the pipeline go on", async (count) => {
    losesSecond(count);
    const error = await failureOf(two.generate(OPTIONS));
    expect([error.code, error.where]).toEqual(["driver", "cpu:1] [denoise"]);
    expect(error.hint).toContain("leave cpu:1");
    vi.restoreAllMocks();
    expect(maxDifference((await two.generate(OPTIONS)).data, whole.data)).toBeLessThanOrEqual(1);
  });
});

it("decodes on one device where the others' memory is short, and says so", async () => {
  const allocate = Device.prototype.allocate;
  const messages: string[] = [];
  let failed = false;
  const onProgress = ({ stage, message }: { stage: string; message?: string }) => {
    if (message) messages.push(message);
    if (stage === "decode" && !failed)
      vi.spyOn(Device.prototype, "allocate").mockImplementation(function (this: Device, bytes) {
        const error = new VdError({ code: "memory", where: "allocate", expected: "less", got: String(bytes) });
        if (failed) return allocate.call(this, bytes);
        failed = true;
        return Promise.reject(error);
      });
  };
  const video = await two.generate({ ...OPTIONS, onProgress });
  expect(messages[0]).toMatch(/^\[cpu:\d\] \[allocate\] expected less.*Now one device decodes\.$/);
  expect(maxDifference(video.data, whole.data)).toBeLessThanOrEqual(1);
});

it("ends within a step when it is cancelled", async () => {
  const stop = new AbortController();
  const onProgress = ({ stage, step }: { stage: string; step: number }) =>
    stage === "denoise" && step === 1 && stop.abort();
  expect((await failureOf(two.generate({ ...OPTIONS, signal: stop.signal, onProgress }))).code).toBe("cancelled");
  expect(maxDifference((await two.generate(OPTIONS)).data, whole.data)).toBeLessThanOrEqual(1);
});

describe("work side by side, as on GPUs", () => {
  const overlapping = async (options: GenerateOptions) => {
    const inner = two as unknown as { context(options: GenerateOptions): Promise<GenerationContext> };
    return new Generation({ ...(await inner.context(options)), overlap: true });
  };

  it("gives the same frames, and leaves nothing loaded", async () => {
    const generation = await overlapping(OPTIONS);
    expect(maxDifference((await generation.run()).data, whole.data)).toBeLessThanOrEqual(1);
    expect(generation.loaders.map(({ memory }) => memory.ownBytes)).toEqual([0, 0]);
    // Each device had its own denoiser, and the second one CLIP.
    for (const { memory } of generation.loaders) expect(memory.peakBytes).toBeGreaterThan(0);
  });

  it.each(["encode 1", "denoise 1", "decode 0"])("stops at %s with nothing left loaded", async (at) => {
    const controller = new AbortController();
    const onProgress = ({ stage, step }: { stage: string; step: number }) => {
      if (`${stage} ${step}` === at) controller.abort();
    };
    const generation = await overlapping({ ...OPTIONS, signal: controller.signal, onProgress });
    expect((await failureOf(generation.run())).code).toBe("cancelled");
    expect(generation.loaders.map(({ memory }) => memory.ownBytes)).toEqual([0, 0]);
  });
});

it("refuses lists of devices that it cannot use", async () => {
  for (const devices of [[], ["cpu", 0], ["gpu"], [-1], "0,1", ["cuda:100"]])
    expect((await failureOf(openTiny({ devices: devices as string[] }))).where).toBe("devices");
  const error = await failureOf(openTiny({ device: "cuda", devices: ["cpu", "cpu"] }));
  expect([error.code, error.where, error.hint]).toEqual(["attr", "devices", "Leave device out."]);
});
