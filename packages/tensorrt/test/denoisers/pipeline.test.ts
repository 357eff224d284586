import { rmSync } from "node:fs";
import { join } from "node:path";
import { registerDenoiser, StableVideoDiffusionPipeline } from "@vd/svd-pipeline";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { onnxruntime, tensorrt } from "../../src/index";
import { failureOf } from "../support/failure";
import { nowhere } from "../support/fake-trt";
import { TINY } from "../support/fixtures";
import { folderForAll, temporaryFolder } from "../support/temporary-folder";

const SIZE = { width: 64, height: 64, numFrames: 3, steps: 3, seed: 5 };
const image = join(TINY, "samples/two-balls.png");

/** How many samples differ, and by how much at most. */
function difference(a: Uint8Array, b: Uint8Array): { count: number; most: number } {
  expect(a.length).toBe(b.length);
  const steps = Array.from(a, (value, i) => Math.abs(value - b[i]!));
  return { count: steps.filter((step) => step > 0).length, most: Math.max(...steps) };
}

describe("a denoiser of ONNX Runtime", () => {
  const cacheDir = folderForAll();
  let own: StableVideoDiffusionPipeline;
  let other: StableVideoDiffusionPipeline;
  beforeAll(async () => {
    registerDenoiser("onnxruntime", () => onnxruntime({ threads: 2, cacheDir }));
    own = await StableVideoDiffusionPipeline.fromPretrained(TINY, { threads: 2 });
    other = await StableVideoDiffusionPipeline.fromPretrained(TINY, { threads: 2, denoiser: "onnxruntime" });
  });
  afterAll(() => {
    own.dispose();
    other.dispose();
    rmSync(cacheDir, { recursive: true });
  });

  it.each([
    ["guidance", { maxGuidance: 2.5 }],
    ["no guidance", { maxGuidance: 1, minGuidance: 1 }],
    ["a sampler that draws noise", { sampler: "euler_a" as const }],
    ["sides that do not halve at every level", { width: 72, height: 56 }],
  ])("generates the same video, with %s", async (_, options) => {
    const ours = await own.generate({ ...SIZE, image, ...options });
    const theirs = await other.generate({ ...SIZE, image, ...options });
    const { count, most } = difference(ours.data, theirs.data);
    expect(most).toBeLessThanOrEqual(1);
    expect(count / ours.data.length).toBeLessThan(0.01);
  });

  it("exports once and says so", async () => {
    const denoiser = onnxruntime({ threads: 2, cacheDir: temporaryFolder() });
    const pipeline = await StableVideoDiffusionPipeline.fromPretrained(TINY, { denoiser });
    const messages: (string | undefined)[] = [];
    const onProgress = ({ message }: { message?: string }) => message && messages.push(message);
    await pipeline.generate({ ...SIZE, image, steps: 1, onProgress });
    await pipeline.generate({ ...SIZE, image, steps: 1, numFrames: 2, onProgress });
    expect(messages).toEqual([expect.stringContaining("Exporting the UNet to ")]);
  });

  it("stops within a step of a cancel", async () => {
    const denoiser = onnxruntime({ threads: 2, cacheDir });
    const pipeline = await StableVideoDiffusionPipeline.fromPretrained(TINY, { denoiser });
    const controller = new AbortController();
    let steps = 0;
    const onProgress = ({ stage, step }: { stage: string; step: number }) => {
      if (stage === "denoise" && step > 0) steps = step;
      if (steps === 1) controller.abort();
    };
    const run = () => pipeline.generate({ ...SIZE, image, steps: 5, signal: controller.signal, onProgress });
    expect((await failureOf(run)).code).toBe("cancelled");
    expect(steps).toBe(1);
    // The pipeline is free again.
    expect((await pipeline.generate({ ...SIZE, image, steps: 1 })).numFrames).toBe(3);
  });

  it.each([
    ["onnxruntim", "attr"],
    [42, "attr"],
    [{ name: "half a factory" }, "attr"],
  ])("%j is refused before anything is opened", async (denoiser, code) => {
    const error = await failureOf(() =>
      StableVideoDiffusionPipeline.fromPretrained(TINY, { denoiser: denoiser as never }),
    );
    expect([error.code, error.where]).toEqual([code, "denoiser"]);
  });
});

describe("a denoiser of TensorRT", () => {
  const search = nowhere({ tensorRtHome: "/no/trt" });

  it("says what was looked for and where, if there is none", async () => {
    const denoiser = tensorrt({ search });
    const error = await failureOf(() => StableVideoDiffusionPipeline.fromPretrained(TINY, { denoiser }));
    expect([error.code, error.where]).toEqual(["unsupported", "tensorrt"]);
    expect(error.expected).toContain(join("/no/trt", "bin"));
    expect(error.got).toBe("neither trtexec nor libnvinfer");
    expect(error.hint).toContain('fallback: "cuda"');
  });

  it("falls back to own CUDA kernels, or says that there is no GPU either", async () => {
    const denoiser = tensorrt({ search, fallback: "cuda" });
    const messages: string[] = [];
    const onProgress = ({ message }: { message?: string }) => message && messages.push(message);
    const opened = await StableVideoDiffusionPipeline.fromPretrained(TINY, { denoiser, onProgress }).catch((e) => e);
    if (opened instanceof StableVideoDiffusionPipeline) {
      expect(messages.join()).toContain("Own cuda kernels denoise instead.");
      const own = await StableVideoDiffusionPipeline.fromPretrained(TINY);
      const [ours, theirs] = [await own.generate({ ...SIZE, image }), await opened.generate({ ...SIZE, image })];
      expect(difference(ours.data, theirs.data).most).toBeLessThanOrEqual(2);
    } else {
      expect([opened.code, opened.where]).toEqual(["unsupported", "tensorrt"]);
      expect(opened.expected).toBe("TensorRT, or a GPU for own CUDA kernels");
    }
  });

  it.each([{ fallback: "cpu" }, { runner: "python" }])("refuses %j", async (options) => {
    expect((await failureOf(() => tensorrt(options as never))).code).toBe("attr");
  });
});
