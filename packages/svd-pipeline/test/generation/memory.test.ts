import { type Device, VdError } from "@vd/kernels-native";
import { createSampler, linearSteps } from "@vd/sampling";
import { Plan } from "@vd/tensor";
import { blockMaps, describePieces, hostBytes } from "@vd/vae-opt";
import { afterEach, beforeAll, describe, expect, it, vi } from "vitest";
import { svdConfig } from "../../../../tooling/testing/svd-sampling";
import type { GenerationContext } from "../../src/generation/context";
import { decodingAheadBytes } from "../../src/generation/decoding-ahead";
import { isDenoiser, weightBytesOn } from "../../src/generation/estimate";
import { Generation } from "../../src/generation/generation";
import { layoutStages } from "../../src/generation/layout-stages";
import { BESIDE_BYTES, bytesBefore, denoisesWithWeights, phaseBudget } from "../../src/generation/memory-phases";
import { choosePinning, unpinnedMessage } from "../../src/generation/pinning";
import type { GenerateOptions, MemoryUse, StableVideoDiffusionPipeline } from "../../src/index";
import { makeModels } from "../../src/opening/models";
import type { ConvolutionMethod } from "../../src/precision/convolutions";
import { describeDenoising } from "../../src/stages/choose-denoising";
import { decodeStage } from "../../src/stages/definitions";
import { KEPT_ON_DEVICE_BYTES, PinnedWeights, placedBytes, streamBytesOf } from "../../src/stages/pinned-weights";
import { StageLayouts } from "../../src/stages/stage";
import { streamedSeconds } from "../../src/stages/stream-timeline";
import { linkBytes } from "../support/link-bytes";
import { sameBytes } from "../support/measures";
import { svdXt } from "../support/svd-xt";
import { openTiny, QUICK } from "../support/tiny-model";

const GIB = 2 ** 30;

/** A GPU as planning sees it. */
const gpu = (gibibytes: number) =>
  ({
    kind: "cuda",
    memory: async () => ({ freeBytes: gibibytes * GIB, totalBytes: gibibytes * GIB, residentBytes: 0 }),
  }) as unknown as Device;

describe("SVD-XT at 25 frames of 1024×576 in float16", () => {
  const components = svdXt();
  const models = makeModels(components);
  const sampler = createSampler(svdConfig, { steps: 25 });
  const layouts = new StageLayouts();

  const layoutsWith = new Map<ConvolutionMethod, StageLayouts>([["direct", layouts]]);

  function contextWith(memory: MemoryUse, gibibytes: number, convolutions: ConvolutionMethod = "direct") {
    const device = gpu(gibibytes);
    const kept = layoutsWith.get(convolutions) ?? new StageLayouts();
    layoutsWith.set(convolutions, kept);
    const size = { numFrames: 25, width: 1024, height: 576, factor: 8 };
    return {
      ...{ device, components, models, layouts: kept, options: {}, pinned: new PinnedWeights() },
      shape: { ...size, rows: 2, decodeChunk: undefined, dtype: "f16", convolutions },
      checked: { outputType: "video", memory, decodeChunk: undefined },
      sampling: { sampler, linear: linearSteps(sampler), stepNoise: "cpu" },
    } as unknown as GenerationContext;
  }

  /** What a generation at full speed takes of a GPU in each phase, in GiB, weights of all stages included, and how it decodes. */
  async function phases(convolutions: ConvolutionMethod, gibibytes = 80) {
    const context = contextWith("full", gibibytes, convolutions);
    const { stays, ahead, denoising } = await bytesBefore(context);
    const stages = await layoutStages(context);
    const { memory } = stages.at(-1)!.layout;
    const { decodeChunk, decodeTiles } = context.shape;
    return {
      ...{ ahead: ahead / GIB, denoising: denoising / GIB },
      decoding: (stays + memory.weightBytes + memory.peakBytes) / GIB,
      how: describePieces({ chunkFrames: decodeChunk, tiles: decodeTiles }),
      alone: context.decodesAlone,
    };
  }

  // What lies beside the weights, 0.38 GiB, and what is left free, 0.3, make 10.
  it.each([
    ["direct", 6.9, 9.0],
    ["compact", 7.2, 9.0],
    ["unet", 8.6, 9.0],
    ["winograd", 8.6, 9.3],
  ] as const)("takes with %s at most 10 GiB, 2 frames decoded at a time", async (convolutions, denoising, decoding) => {
    const taken = await phases(convolutions);
    expect(taken.denoising).toBeCloseTo(denoising, 1);
    expect(taken.decoding).toBeCloseTo(decoding, 1);
    expect(taken.how).toContain("2 frames at a time");
    expect(Math.max(taken.ahead, taken.denoising, taken.decoding)).toBeLessThanOrEqual(0.97 * 10 - BESIDE_BYTES / GIB);
    expect(taken.alone).toBe(false);
  });

  it.each([
    [2, 5044, 4756],
    [9, 10084, 8788],
    [13, 12964, 11092],
    [25, 18004, 14404],
  ])("needs less for %i frames at a time where convolutions normalise", (decodeChunk, apart, fused) => {
    const { shape } = contextWith("full", 80);
    const peakOf = (fusedNorm: boolean) =>
      new StageLayouts().of(decodeStage(models, { ...shape, decodeChunk, fusedNorm })).memory.peakBytes / 2 ** 20;
    expect(Math.round(peakOf(false))).toBe(apart);
    expect(Math.round(peakOf(true))).toBe(fused);
  });

  it("has room for all transforms of the UNet's filters where the card has all that full speed takes", async () => {
    const fits = (convolutions: ConvolutionMethod, gibibytes: number) => {
      const context = contextWith("full", gibibytes, convolutions);
      return denoisesWithWeights(context, context.device);
    };
    expect(await fits("unet", 80)).toBe(true);
    // Previews are decoded beside the denoiser.
    const seen = { ...contextWith("full", 80, "unet"), options: { image: "", onPreview: () => {} } };
    const { denoising } = await bytesBefore(seen);
    expect(denoising).toBeGreaterThan((await bytesBefore(contextWith("full", 80, "unet"))).denoising);
    expect([await fits("unet", 9), await fits("compact", 9)]).toEqual([false, true]);
    expect(await fits("compact", 7)).toBe(false);
  });

  it.each([
    ["unet", 80, true],
    ["winograd", 80, false],
    ["winograd", 8, false],
  ] as const)(
    "loads the decoder beside the denoiser, in the place of its transforms, where it fits: %s in %d GiB",
    async (convolutions, gibibytes, fits) => {
      const context = contextWith("full", gibibytes, convolutions);
      const { memory } = (await layoutStages(context)).at(-1)!.layout;
      expect(await decodingAheadBytes(context)).toBe(fits ? memory.arenaBytes : 0);
      const { denoising, arenaBytes } = await bytesBefore(context);
      const apart = denoising - arenaBytes.denoiser + memory.arenaBytes;
      expect(apart).toBeGreaterThan(await phaseBudget(context.device));
    },
  );

  it("keeps transforms where stages stay loaded", async () => {
    const context = contextWith("full", 80, "unet");
    const kept = await bytesBefore({ ...context, keepsStages: true });
    const { stays } = await bytesBefore(context);
    const denoise = await layoutStages(context).then((stages) => stages.find(({ name }) => isDenoiser(name))!.layout);
    expect(kept.stays - stays).toBe(denoise.memory.transformedBytes);
  });

  it("lets go of weights that leave no room to decode", async () => {
    const taken = await phases("direct", 8);
    expect(taken.how).toContain("5 frames at a time");
    expect(taken.alone).toBe(true);
  });

  /** What a generation takes of a GPU at most, and how. */
  async function planned(memory: MemoryUse, gibibytes = 80) {
    const context = contextWith(memory, gibibytes);
    const { device } = context;
    const stages = await layoutStages(context);
    const { shape, streamBytes = 0 } = context;
    const pinning = choosePinning(context, stages, 64 * GIB);
    const parts = stages.map(({ name, layout, heldBytes = 0 }) => {
      const weights = weightBytesOn(device, layout, name === "denoise" ? streamBytes : 0);
      return { name, weights, own: layout.memory.peakBytes + heldBytes };
    });
    const before = parts.filter(({ name }) => !name.startsWith("decode"));
    // Weights of all stages stay where memory is used in full.
    const kept = memory === "full" ? before.reduce((sum, { weights }) => sum + weights, 0) : 0;
    const bytesOf = (part: (typeof parts)[number]) =>
      part.own + (memory === "full" && before.includes(part) ? kept : kept + part.weights);
    return {
      gibibytes: Math.max(...parts.map(bytesOf)) / GIB,
      denoising: describeDenoising({ rowsApart: shape.rowsApart ?? false, streamBytes }),
      decoding: describePieces({ chunkFrames: shape.decodeChunk, tiles: shape.decodeTiles }),
      tiles: shape.decodeTiles,
      pinning,
      refused: unpinnedMessage({ ...context, pinning: choosePinning(context, stages, 6 * GIB) }),
      onDevice: placedBytes(
        stages.map(({ name, layout }) => ({ layout, streamBytes: streamBytesOf(isDenoiser(name) ? streamBytes : 0) })),
      ).onDevice,
      rows: stages.find(({ name }) => name === "denoise")!.layout.graph.rows,
    };
  }

  it.each([
    ["full", 10, "in one go", "2 frames at a time"],
    ["low", 6, "in one go", "3 frames at a time"],
    ["lowest", 3.85, "guidance row by row, with weights streamed through 1280 MiB", "in tiles"],
  ] as const)("takes with %s at most %f GiB", async (memory, most, denoising, decoding) => {
    const plan = await planned(memory);
    expect(plan.gibibytes).toBeLessThanOrEqual(most);
    expect(plan.denoising).toBe(denoising);
    expect(plan.decoding).toContain(decoding);
  });

  it("decodes with lowest in maps of which most stays on the device", async () => {
    const { tiles } = await planned("lowest");
    const { numHeadBlocks, blocks } = tiles!;
    expect(numHeadBlocks).toBe(11);
    // The last level's maps have 144 MiB a frame, 3.5 GiB together.
    expect(blocks.slice(0, -1).map(({ onDevice }) => onDevice.made)).toEqual([21, 23, 23]);
    const maps = blockMaps(models.vae, { numFrames: 25, height: 72, width: 128, dtype: "f16" });
    expect(hostBytes(maps, tiles!) / GIB).toBeLessThan(2.4);
    expect(linkBytes(maps, tiles!) / 1e9).toBeLessThan(10);
  });

  it("waits little for weights that are streamed over a PCIe 4 link", async () => {
    const { rows } = await planned("lowest");
    const flops = rows.reduce((sum, row) => sum + row.flops, 0);
    /** By how much a call takes longer that would take `seconds` with its weights on the device. */
    const ratio = (seconds: number, mebibytes: number) =>
      streamedSeconds(rows, mebibytes * 2 ** 20, { bytesPerSecond: 25e9, flopsPerSecond: flops / seconds }) / seconds;
    // Calls of 0.3 s and of 1 s, as on an H200 and on a card a third as fast.
    expect(ratio(0.3, 1280)).toBeCloseTo(1.02, 2);
    expect(ratio(0.3, 768)).toBeCloseTo(1.06, 2);
    expect(ratio(1, 1280)).toBeLessThan(1.01);
    // Without slots to fill ahead.
    expect(ratio(0.3, 1e-6)).toBeGreaterThan(1.2);
  });

  it("keeps the weights of all stages page-locked with lowest, where the machine has room for them", async () => {
    const { pinning, refused, onDevice } = await planned("lowest");
    expect(pinning!.isKept).toBe(true);
    expect(pinning!.bytes / GIB).toBeCloseTo(4.2, 1);
    // Else every stage would have to let go of them.
    expect(onDevice).toBeLessThan(KEPT_ON_DEVICE_BYTES);
    expect(refused).toBe(
      "The machine has too little memory left to keep 2.5 GiB of weights page-locked: each generation packs them anew.",
    );
    expect((await planned("low")).pinning).toBeUndefined();
  });

  it("takes less of a smaller card by itself", async () => {
    const plan = await planned("low", 5);
    expect(plan.gibibytes).toBeLessThanOrEqual(5);
    expect(plan.denoising).toBe("guidance row by row");
  });
});

describe("the frames", () => {
  const OPTIONS = { ...QUICK, steps: 3, numFrames: 5 };
  let pipeline: StableVideoDiffusionPipeline;
  let wanted: Uint8Array;
  beforeAll(async () => {
    pipeline = await openTiny();
    wanted = (await pipeline.generate(OPTIONS)).data;
  });
  afterEach(() => vi.restoreAllMocks());

  it.each([
    ["a sampler that steps on the device", {}],
    ["calls that are saved", { featureInterval: 2, guidanceMaxSigma: 50 }],
    ["a sampler that steps on the host, in a video of two clips", { numFrames: 8, clipFrames: 5 }],
  ])("are the same with the least memory: %s", async (_, more) => {
    const full = (await pipeline.generate({ ...OPTIONS, ...more })).data;
    const least = await pipeline.generate({ ...OPTIONS, ...more, memory: "lowest" });
    expect(sameBytes(least.data, full)).toBe(true);
    const [a, b] = await Promise.all(
      (["full", "lowest"] as const).map((memory) => pipeline.plan({ ...OPTIONS, ...more, memory })),
    );
    expect(b!.stages.find(({ name }) => name.startsWith("denoise"))!.peakBytes).toBeLessThan(
      a!.stages.find(({ name }) => name.startsWith("denoise"))!.peakBytes,
    );
  });

  it("are the same where the decoder has the device to itself", async () => {
    const inner = pipeline as unknown as { context(options: GenerateOptions): Promise<GenerationContext> };
    const context = await inner.context(OPTIONS);
    const events: string[] = [];
    vi.spyOn(context.device, "trim").mockImplementation(async () => void events.push("trim"));
    const load = Plan.load;
    vi.spyOn(Plan, "load").mockImplementation((device, layout, options) => {
      events.push(options!.name!);
      return load.call(Plan, device, layout, options);
    });
    const video = await new Generation({ ...context, decodesAlone: true }).run();
    expect(sameBytes(video.data, wanted)).toBe(true);
    expect(events.slice(-2)).toEqual(["trim", "decode"]);
    expect(events.filter((event) => event === "trim")).toHaveLength(1);
    events.length = 0;
    await new Generation(context).run();
    expect(events).not.toContain("trim");
  });

  /** Lets plans of the denoiser fail as on a device without memory while `refuses` says so. */
  function refuseDenoiser(refuses: (load: number) => boolean): string[] {
    const load = Plan.load;
    const names: string[] = [];
    vi.spyOn(Plan, "load").mockImplementation((device, layout, options) => {
      if (options?.name !== "denoise") return load.call(Plan, device, layout, options);
      names.push(`${layout.graph.rows.length} rows`);
      const error = { code: "memory", where: "allocate", expected: "less", got: "more" } as const;
      return refuses(names.length) ? Promise.reject(new VdError(error)) : load.call(Plan, device, layout, options);
    });
    return names;
  }

  it("are the same where the device runs out of memory for the denoiser, which is told", async () => {
    const loads = refuseDenoiser((load) => load === 1);
    const messages: string[] = [];
    const onProgress = ({ message }: { message?: string }) => void (message && messages.push(message));
    const video = await pipeline.generate({ ...OPTIONS, onProgress });
    expect(sameBytes(video.data, wanted)).toBe(true);
    expect(messages).toEqual(["The device ran out of memory denoising in one go; now guidance row by row."]);
    expect(new Set(loads).size).toBe(2);
  });

  it("are refused with what would fit where nothing is left to try", async () => {
    refuseDenoiser(() => true);
    await expect(pipeline.generate({ ...OPTIONS, width: 256, height: 128 })).rejects.toMatchObject({
      code: "memory",
      hint: "This would fit: 4 frames, or a size of 192x64.",
    });
  });
});
