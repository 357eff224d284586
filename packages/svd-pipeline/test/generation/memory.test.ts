import { type Device, VdError } from "@vd/kernels-native";
import { createSampler, linearSteps } from "@vd/sampling";
import { Plan } from "@vd/tensor";
import { describePieces } from "@vd/vae-opt";
import { afterEach, beforeAll, describe, expect, it, vi } from "vitest";
import { svdConfig } from "../../../../tooling/testing/svd-sampling";
import type { GenerationContext } from "../../src/generation/context";
import { weightBytesOn } from "../../src/generation/estimate";
import { layoutStages } from "../../src/generation/layout-stages";
import type { MemoryUse, StableVideoDiffusionPipeline } from "../../src/index";
import { makeModels } from "../../src/opening/models";
import { describeDenoising } from "../../src/stages/choose-denoising";
import { StageLayouts } from "../../src/stages/stage";
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
      ...{ device, components, models, layouts, options: {} },
      shape: { numFrames: 25, width: 1024, height: 576, factor: 8, rows: 2, decodeChunk: undefined, dtype: "f16" },
      checked: { outputType: "video", memory, decodeChunk: undefined },
      sampling: { sampler, linear: linearSteps(sampler), stepNoise: "cpu" },
    } as unknown as GenerationContext;
    const stages = await layoutStages(context);
    const { shape, streamBytes = 0 } = context;
    const parts = stages.map(({ name, layout }) => {
      const weights = weightBytesOn(device, layout, name === "denoise" ? streamBytes : 0);
      return { name, weights, own: layout.memory.peakBytes };
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
      parts,
    };
  }

  it.each([
    ["full", 10, "in one go", "2 frames at a time"],
    ["low", 6, "in one go", "3 frames at a time"],
    ["lowest", 3.5, "guidance row by row, with weights streamed through 768 MiB", "in tiles"],
  ] as const)("takes with %s at most %f GiB", async (memory, most, denoising, decoding) => {
    const plan = await planned(memory);
    expect(plan.gibibytes).toBeLessThanOrEqual(most);
    expect(plan.denoising).toBe(denoising);
    expect(plan.decoding).toContain(decoding);
  });

  it("takes less of a smaller card by itself", async () => {
    const plan = await planned("low", 5);
    expect(plan.gibibytes).toBeLessThanOrEqual(5);
    expect(plan.denoising).toBe("guidance row by row");
  });
});
