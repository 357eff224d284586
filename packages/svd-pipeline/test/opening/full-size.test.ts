import { countOf } from "@vd/kernels-native";
import { Graph, layoutGraph, type Pausable, SharedBlock } from "@vd/tensor";
import { chooseDecodePieces, describePieces } from "@vd/vae-opt";
import { beforeAll, describe, expect, it } from "vitest";
import type { CallKind } from "../../src/denoising/call-planner";
import { makeModels } from "../../src/opening/models";
import { callStage } from "../../src/stages/call-stages";
import { decodeStage, type StageShape } from "../../src/stages/definitions";
import { layoutGeneration, stagesBefore } from "../../src/stages/generation-stages";
import { StageLayouts } from "../../src/stages/stage";
import { modelOf, SVD_XT } from "../checkpoint/diffusers-names";
import { svdXt } from "../support/svd-xt";

const SHAPE: StageShape = { numFrames: 25, width: 1024, height: 576, factor: 8, rows: 2, decodeChunk: undefined };

describe("SVD-XT at 25 frames of 1024×576", () => {
  const components = svdXt();
  const models = makeModels(components);
  const layoutsOf = async (shape: Partial<StageShape> = {}) => {
    const stepNeeds = { numHistory: 0, drawsNoise: false };
    const counts = { clipSize: 224, numModelCalls: 25, stepNeeds, clipFrames: undefined, layouts: new StageLayouts() };
    const layouts = await layoutGeneration(models, { ...SHAPE, ...shape }, counts);
    return new Map(layouts.map(({ name, layout }) => [name, layout]));
  };
  let layouts: Awaited<ReturnType<typeof layoutsOf>>;
  beforeAll(async () => {
    layouts = await layoutsOf();
  });
  const tera = (name: string) => layouts.get(name)!.cost.flops / 1e12;
  const gibibytes = (name: string) => layouts.get(name)!.memory.peakBytes / 2 ** 30;

  it("has as many weights as the published model", () => {
    const millions = (name: "unet" | "vae" | "image_encoder") =>
      modelOf(SVD_XT)
        .get(name)!
        .reduce((sum, { shape }) => sum + countOf(shape), 0) / 1e6;
    expect(millions("unet")).toBeCloseTo(1524.6, 0);
    expect(millions("vae")).toBeCloseTo(97.7, 0);
    expect(millions("image_encoder")).toBeCloseTo(632.1, 0);
  });

  it("costs what the reference costs, less the cross-attention to one token", () => {
    expect(tera("denoise")).toBeGreaterThan(153);
    expect(tera("denoise")).toBeLessThan(160);
    expect(tera("decode")).toBeGreaterThan(172);
    expect(tera("decode")).toBeLessThan(175);
  });

  it("needs memory for float32 activations that is known before anything is allocated", () => {
    expect(gibibytes("embed image")).toBeLessThan(0.1);
    expect(gibibytes("encode image")).toBeLessThan(1);
    expect(gibibytes("denoise")).toBeLessThan(6);
    // Five feature maps of 128 and 256 channels at full size.
    expect(gibibytes("decode")).toBeLessThan(36);
  });

  it("pauses after every few rows while it is recorded", () => {
    const needs = { numHistory: 0, drawsNoise: false };
    const shape = { ...SHAPE, decodeChunk: 2 };
    const stages = stagesBefore(models, shape, { clipSize: 224, numModelCalls: 25, stepNeeds: needs });
    for (const stage of [...stages.map(([each]) => each), decodeStage(models, shape)]) {
      const graph = new Graph();
      let [before, most] = [0, 0];
      for (const _ of stage.build(graph) as Pausable<void>) {
        most = Math.max(most, graph.rows.length - before);
        before = graph.rows.length;
      }
      expect(graph.rows.length - before).toBeLessThan(16);
      // Before the code is warm a row takes up to a tenth of a millisecond.
      expect(most, stage.name).toBeLessThan(16);
    }
  });

  it("takes half the work without guidance", async () => {
    const without = await layoutsOf({ rows: 1 });
    expect(without.get("denoise")!.cost.flops / layouts.get("denoise")!.cost.flops).toBeCloseTo(0.5, 2);
    expect(without.get("denoise")!.memory.arenaBytes).toBeLessThan(0.55 * layouts.get("denoise")!.memory.arenaBytes);
  });

  it("reuses features of the inner blocks in a call of much less work, which shares memory with whole calls", () => {
    const needs = { numHistory: 0, drawsNoise: false, reuses: true, measures: true };
    const block = new SharedBlock();
    const layoutOf = (kind: CallKind) => layoutGraph(callStage(models, SHAPE, needs, kind, block).build);
    const [whole, reusing, skipped] = [layoutOf("full"), layoutOf("full, reusing"), layoutOf("skipped")];
    expect(whole.cost.flops / layouts.get("denoise")!.cost.flops).toBeCloseTo(1, 3);
    expect(reusing.cost.flops / whole.cost.flops).toBeLessThan(0.6);
    expect(skipped.cost.flops / whole.cost.flops).toBeLessThan(1e-4);
    expect(reusing.memory.arenaBytes).toBeLessThanOrEqual(whole.memory.arenaBytes);
    // Latents, data predictions and features of both rows, 320 channels of 128×72 in 25 frames.
    expect(block.bytes / 2 ** 20).toBeCloseTo((4 * 25 * 128 * 72 * (2 * 320 + 2 * 4)) / 2 ** 20, 0);
  });

  it("takes less memory to decode in chunks, with the same results and little more work", async () => {
    const chunked = (await layoutsOf({ decodeChunk: 2 })).get("decode")!;
    expect(chunked.memory.peakBytes).toBeLessThan(0.3 * layouts.get("decode")!.memory.peakBytes);
    // A convolution of each block of the last level runs twice.
    expect(chunked.cost.flops / 1e12 / tera("decode")).toBeLessThan(1.03);
  });

  it.each([
    [1024, 576, 4],
    [2048, 1152, 16],
    [2048, 1152, 6],
  ])("decodes %i×%i in float16 within %i GiB", async (width, height, gibibytes) => {
    const budgetBytes = gibibytes * 2 ** 30;
    const shape = { numFrames: 25, height: height / 8, width: width / 8, dtype: "f16" as const };
    const { pieces, bytes, fits } = await chooseDecodePieces(models.vae, shape, {
      budgetBytes,
      async bytesOf({ build, dtype }) {
        const { peakBytes, weightBytes } = layoutGraph(build, { dtype }).memory;
        return peakBytes + weightBytes;
      },
    });
    expect(fits).toBe(true);
    expect(bytes).toBeLessThanOrEqual(budgetBytes);
    expect(describePieces(pieces)).toMatch(/^in tiles: \d+ blocks whole, then whole pictures of/);
  });
});
