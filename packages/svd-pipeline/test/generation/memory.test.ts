import { type Device, VdError } from "@vd/kernels-native";
import { createSampler, linearSteps } from "@vd/sampling";
import { Plan } from "@vd/tensor";
import { blockMaps, describePieces, hostBytes } from "@vd/vae-opt";
import { afterEach, beforeAll, describe, expect, it, vi } from "vitest";
import { svdConfig } from "../../../../tooling/testing/svd-sampling";
import type { GenerationContext } from "../../src/generation/context";
import { isDenoiser, weightBytesOn } from "../../src/generation/estimate";
import { layoutStages } from "../../src/generation/layout-stages";
import { choosePinning, unpinnedMessage } from "../../src/generation/pinning";
import type { MemoryUse, StableVideoDiffusionPipeline } from "../../src/index";
import { makeModels } from "../../src/opening/models";
import { describeDenoising } from "../../src/stages/choose-denoising";
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

  /** What a generation takes of a GPU at most, and how. */
  async function planned(memory: MemoryUse, gibibytes = 80) {
    const device = gpu(gibibytes);
    const context = {
      ...{ device, components, models, layouts, options: {}, pinned: new PinnedWeights() },
      shape: { numFrames: 25, width: 1024, height: 576, factor: 8, rows: 2, decodeChunk: undefined, dtype: "f16" },
      checked: { outputType: "video", memory, decodeChunk: undefined },
      sampling: { sampler, linear: linearSteps(sampler), stepNoise: "cpu" },
    } as unknown as GenerationContext;
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
