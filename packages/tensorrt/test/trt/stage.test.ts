import { join } from "node:path";
import { type DenoiserFactory, StableVideoDiffusionPipeline } from "@vd/svd-pipeline";
import { describe, expect, it } from "vitest";
import { currentGpu, findTensorRt, tensorrt } from "../../src/index";
import { fakeTrt } from "../support/fake-trt";
import { TINY } from "../support/fixtures";
import { temporaryFolder } from "../support/temporary-folder";

const GPU = { name: "Stand-in 4090", computeCapability: "8.9" };
const wishes = { image: join(TINY, "samples/two-balls.png"), width: 32, height: 32, numFrames: 2, steps: 2, seed: 3 };

/** What the stand-in's engine computes, in this process: half of the scaled latents, whatever the guidance. */
const halving: DenoiserFactory = {
  name: "halving",
  prepare: async () => undefined,
  open: async () => ({
    predict: async ({ latents, inputScale }) => latents.map((value) => (value * Math.fround(inputScale)) / 2),
    close: async () => undefined,
  }),
};

describe("TensorRT as the denoising stage", () => {
  it("exports, builds and runs an engine, and the video is that of the engine", async () => {
    const trt = fakeTrt({ sampleDims: [2, 2, 8, 4, 4] });
    const denoiser = tensorrt({ search: trt.search, gpu: GPU, precision: "fp32", cacheDir: temporaryFolder() });
    const pipeline = await StableVideoDiffusionPipeline.fromPretrained(TINY, { denoiser });
    const video = await pipeline.generate({ ...wishes, maxGuidance: 2 });
    const expected = await StableVideoDiffusionPipeline.fromPretrained(TINY, { denoiser: halving });
    const { data } = await expected.generate({ ...wishes, maxGuidance: 2 });
    expect(Math.max(...data.map((value, i) => Math.abs(value - video.data[i]!)))).toBeLessThanOrEqual(1);
    const kinds = () => trt.calls().map((args) => args[0]!.split("=")[0]);
    expect(kinds()).toEqual(["--onnx", "--loadEngine", "--loadEngine"]);
    await pipeline.generate({ ...wishes, maxGuidance: 2 });
    expect(kinds().filter((kind) => kind === "--onnx").length).toBe(1);
  });
});

const installed = await findTensorRt().catch((error: Error) => error);
const gpu = await currentGpu().catch((error: Error) => error);
const reason = [installed, gpu].filter((found) => found instanceof Error).map(({ message }) => message.slice(0, 120));

describe("the real TensorRT", () => {
  it.skipIf(reason.length > 0)(
    `generates the tiny video${reason.length > 0 ? ` (skipped: ${reason.join("; ")})` : ""}`,
    { timeout: 600_000 },
    async () => {
      const denoiser = tensorrt({ cacheDir: temporaryFolder(), precision: "fp32" });
      const theirs = await StableVideoDiffusionPipeline.fromPretrained(TINY, { denoiser });
      const ours = await StableVideoDiffusionPipeline.fromPretrained(TINY);
      const [a, b] = [await ours.generate(wishes), await theirs.generate(wishes)];
      expect(Math.max(...a.data.map((value, i) => Math.abs(value - b.data[i]!)))).toBeLessThanOrEqual(2);
    },
  );
});
