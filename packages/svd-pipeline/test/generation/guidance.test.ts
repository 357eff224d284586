import { readFileSync } from "node:fs";
import { beforeAll, describe, expect, it } from "vitest";
import { failureOf } from "../../../../tooling/testing/failure";
import { maxDifference } from "../../../../tooling/testing/pictures";
import { createSampler, type StableVideoDiffusionPipeline } from "../../src/index";
import type { GenerateOptions } from "../../src/types";
import { sameBytes } from "../support/measures";
import { openTiny, QUICK, TINY_SVD } from "../support/tiny-model";

let pipeline: StableVideoDiffusionPipeline;
beforeAll(async () => {
  pipeline = await openTiny();
});

describe("guidance", () => {
  const generate = async (minGuidance: number, maxGuidance: number, guidance?: "linear" | "triangle") =>
    (await pipeline.generate({ ...QUICK, minGuidance, maxGuidance, guidance })).data;
  const denoiseFlops = async (minGuidance: number, maxGuidance: number) =>
    (await pipeline.plan({ ...QUICK, minGuidance, maxGuidance })).stages.find(({ name }) => name === "denoise")!.flops;

  it("computes one row instead of two where no frame is guided", async () => {
    const [off, on] = [await denoiseFlops(1, 1), await denoiseFlops(1, 1.01)];
    expect(on / off).toBeGreaterThan(1.95);
    expect(on / off).toBeLessThan(2.05);
    expect(await denoiseFlops(0.3, 0.8)).toBe(off);
    expect(await denoiseFlops(3, 1)).toBe(on);
  });

  it("of 1 everywhere is as good as none", async () => {
    const [off, almost] = [await generate(1, 1), await generate(1, 1.000001)];
    expect(maxDifference(almost, off)).toBeLessThanOrEqual(1);
    expect(maxDifference(await generate(1, 3), off)).toBeGreaterThan(8);
  });

  it("runs up, down, and up and down", async () => {
    const results = [
      await generate(1, 3),
      await generate(3, 1),
      await generate(1, 3, "triangle"),
      await generate(2, 2),
    ];
    results.forEach((a, i) => {
      for (const b of results.slice(i + 1)) expect(sameBytes(a, b)).toBe(false);
    });
    expect(sameBytes(await generate(2, 2, "triangle"), results[3]!)).toBe(true);
  });
});

describe("sigmas", () => {
  it("of the model's own schedule give the same video as its steps", async () => {
    const config = JSON.parse(readFileSync(`${TINY_SVD}/scheduler/scheduler_config.json`, "utf8"));
    const { sigmas } = createSampler(config, { steps: 2 });
    const { steps: _, ...withoutSteps } = QUICK;
    const wanted = (await pipeline.generate(QUICK)).data;
    const steps: number[] = [];
    const onProgress = (event: { stage: string; steps: number }) => {
      if (event.stage === "denoise") steps.push(event.steps);
    };
    const given = await pipeline.generate({ ...withoutSteps, sigmas: [...sigmas], onProgress });
    expect(sameBytes(given.data, wanted)).toBe(true);
    expect(steps).toEqual([2, 2, 2]);
    expect(sameBytes((await pipeline.generate({ ...QUICK, sigmas: [...sigmas] })).data, wanted)).toBe(true);
    const other = await pipeline.generate({ ...withoutSteps, sigmas: [80, 10, 1, 0] });
    expect(sameBytes(other.data, wanted)).toBe(false);
  });

  it.each<[string, GenerateOptions["sigmas"], number | undefined, string]>([
    ["attr", [10, 20, 0], undefined, "[sigmas[1]] expected at most 10, got 20"],
    ["attr", [10, Number.NaN, 0], undefined, "[sigmas[1]] expected a finite number, not negative, got NaN"],
    ["attr", [10, -1], undefined, "[sigmas[1]] expected a finite number, not negative, got -1"],
    ["attr", [10, 1, 0], 3, "[steps] expected 2, as many as the given sigmas make, got 3"],
    ["weights", [1e30, 1, 0], undefined, "[denoise step 1] expected finite latents, got infinite ones or NaN"],
  ])("that cannot be are refused with %s: %j", async (code, sigmas, steps, message) => {
    const error = await failureOf(pipeline.generate({ ...QUICK, sigmas, steps }));
    expect(error.code).toBe(code);
    expect(error.message).toContain(message);
  });
});
