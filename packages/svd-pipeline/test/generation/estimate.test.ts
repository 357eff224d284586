import { beforeAll, describe, expect, it } from "vitest";
import { failureOf } from "../../../../tooling/testing/failure";
import { checkMemory } from "../../src/generation/estimate";
import type { StableVideoDiffusionPipeline } from "../../src/index";
import { openModelFolder } from "../../src/opening/folder";
import { makeModels } from "../../src/opening/models";
import type { StageShape } from "../../src/stages/definitions";
import { layoutGeneration } from "../../src/stages/generation-stages";
import { StageLayouts } from "../../src/stages/stage";
import { openTiny, QUICK, TINY_SVD } from "../support/tiny-model";

let pipeline: StableVideoDiffusionPipeline;
beforeAll(async () => {
  pipeline = await openTiny();
});

const SHAPE: StageShape = { numFrames: 3, width: 32, height: 32, factor: 8, rows: 2, decodeChunk: undefined };
const layoutsOf = async (shape: Partial<StageShape> = {}, clipFrames?: number) => {
  const models = makeModels(await openModelFolder(TINY_SVD));
  const stepNeeds = { numHistory: 0, drawsNoise: false };
  const counts = { clipSize: 224, numModelCalls: 2, stepNeeds, clipFrames, layouts: new StageLayouts() };
  return layoutGeneration(models, { ...SHAPE, ...shape }, counts);
};

describe("plan", () => {
  it("is what the recorded stages say", async () => {
    const plan = await pipeline.plan(QUICK);
    const layouts = await layoutsOf();
    expect(plan.stages.map(({ name, runs }) => [name, runs])).toEqual([
      ["embed image", 1],
      ["encode image", 1],
      ["condition", 1],
      ["start", 1],
      ["denoise", 2],
      ["decode", 1],
    ]);
    plan.stages.forEach((stage, i) => {
      const { cost, memory } = layouts[i]!.layout;
      expect([stage.numRows, stage.flops, stage.bytes]).toEqual([cost.numRows, cost.flops, cost.bytes]);
      expect(stage.flops).toBeGreaterThan(0);
      // On top of the blocks come the weights, which are stored in 16 bits and computed with in 32.
      expect(stage.peakBytes - memory.peakBytes).toBeGreaterThanOrEqual(1.9 * memory.weightBytes);
      expect(stage.peakBytes - memory.peakBytes).toBeLessThanOrEqual(2 * memory.weightBytes);
      expect(stage.estimatedUs).toBeGreaterThan(0);
    });
    expect(plan.peakBytes).toBe(Math.max(...plan.stages.map(({ peakBytes }) => peakBytes)));
    expect(plan.flops).toBe(plan.stages.reduce((sum, { flops, runs }) => sum + flops * runs, 0));
    expect(plan.weightBytes).toBe(layouts.reduce((sum, { layout }) => sum + layout.memory.weightBytes, 0));
    expect(plan.estimatedUs).toBeCloseTo(plan.stages.reduce((sum, { estimatedUs }) => sum + estimatedUs, 0));
  });

  it("grows with frames, size and steps as the work does", async () => {
    const flops = async (options: object) => (await pipeline.plan({ ...QUICK, ...options })).flops;
    const once = await flops({ steps: 10 });
    const [longer, wider, more] = [{ numFrames: 6, steps: 10 }, { width: 64, height: 64, steps: 10 }, { steps: 20 }];
    expect((await flops(longer)) / once).toBeGreaterThan(1.8);
    expect((await flops(wider)) / once).toBeGreaterThan(3.5);
    expect((await flops(more)) / once).toBeGreaterThan(1.3);
  });

  it("counts calls of the model, of which heun makes two a step", async () => {
    const plan = await pipeline.plan({ ...QUICK, steps: 5, sampler: "heun" });
    expect(plan.stages.find(({ name }) => name === "denoise")!.runs).toBe(9);
  });

  it("counts clips that are decoded on their own, a shorter one included", async () => {
    const plan = await pipeline.plan({ ...QUICK, numFrames: 5, decodeChunk: 2, isolateDecodeChunks: true });
    const decodes = plan.stages.filter(({ name }) => name === "decode");
    expect(decodes.map(({ runs }) => runs)).toEqual([2, 1]);
    const whole = await pipeline.plan({ ...QUICK, numFrames: 5 });
    expect(decodes[0]!.peakBytes).toBeLessThan(whole.stages.at(-1)!.peakBytes);
    expect(plan.weightBytes).toBe(whole.weightBytes);
  });

  it("foretells the memory that the generation then reports", async () => {
    for (const options of [QUICK, { ...QUICK, width: 96, height: 64, numFrames: 6 }]) {
      const [plan, video] = [await pipeline.plan(options), await pipeline.generate(options)];
      expect(video.peakBytes / plan.peakBytes).toBeGreaterThan(0.5);
      expect(video.peakBytes / plan.peakBytes).toBeLessThan(1.5);
    }
  });
});

describe("checkMemory", () => {
  it("lets pass what fits, and names the stage and the way out for what does not", async () => {
    const layouts = await layoutsOf({ width: 128, height: 128 });
    checkMemory(layouts);
    const error = await failureOf(() => checkMemory(layouts, 2 ** 20));
    expect(error.code).toBe("memory");
    expect(error.message).toMatch(
      /^\[generate\] expected a video that fits into the 0\.0 GiB of this machine, got 0\.0 GiB for the stage "decode"\. Use a smaller decodeChunk, fewer frames or a smaller size\.$/,
    );
  });

  it("is asked before any work: a video of terabytes fails at once and without an event", async () => {
    const events: unknown[] = [];
    const huge = { ...QUICK, width: 16384, height: 16384, numFrames: 4096 };
    const error = await failureOf(pipeline.generate({ ...huge, onProgress: (event) => events.push(event) }));
    expect(error.code).toBe("memory");
    expect(events).toEqual([]);
    expect((await pipeline.plan(huge)).peakBytes).toBeGreaterThan(2 ** 40);
  });
});
