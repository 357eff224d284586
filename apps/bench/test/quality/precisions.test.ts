import { readFileSync } from "node:fs";
import { join } from "node:path";
import { StableVideoDiffusionPipeline } from "@vd/svd-pipeline";
import { expect, it } from "vitest";
import type { PrecisionRun } from "../../src/quality/compare-precisions";
import { distanceOf, generateForQuality } from "../../src/quality/compare-variants";
import { withOutliers } from "../../src/quality/outliers";
import { TINY_SVD, vdBench } from "../support/harness";
import { temporaryFolder } from "../support/temporary-folder";

it("quality prints what layers in 8 bits cost, without a table and with one", async () => {
  const json = join(await temporaryFolder(), "quality.json");
  const size = ["--frames", "2", "--size", "32x32", "--steps", "2", "--threads", "2", "--json", json];
  const { status, stdout } = await vdBench(["quality", "--precisions", "int8", ...size]);
  expect(status).toBe(0);
  const lines = stdout.trim().split("\n");
  expect(lines[0]).toBe("| precision | scales | denoise s | PSNR dB | SSIM | latents' distance |");
  expect(lines.slice(2).map((line) => line.split(" | ").slice(0, 2))).toEqual([
    ["| int8", "not calibrated"],
    ["| int8", "calibrated"],
  ]);
  const { runs } = JSON.parse(readFileSync(json, "utf8")) as { runs: PrecisionRun[] };
  for (const { psnr, latentDistance } of runs) {
    expect(psnr).toBeGreaterThan(45);
    expect(latentDistance).toBeGreaterThan(1e-4);
  }
});

it("outliers need precisions beside them", async () => {
  const { status, stderr } = await vdBench(["quality", "--outliers"]);
  expect(status).not.toBe(0);
  expect(stderr).toContain("--precisions");
});

it("a model with outliers computes what it did", async () => {
  const folder = await withOutliers(TINY_SVD, await temporaryFolder(), 0);
  const options = { image: `${TINY_SVD}/samples/one-ball.png`, width: 32, height: 32, numFrames: 2, steps: 2, seed: 3 };
  const run = async (model: string) => {
    using pipeline = await StableVideoDiffusionPipeline.fromPretrained(model, { threads: 2 });
    return generateForQuality(pipeline, { ...options, onWarning: () => {} });
  };
  const { psnr } = distanceOf(await run(folder), await run(TINY_SVD));
  expect(psnr).toBeGreaterThan(55);
  expect(psnr).toBeLessThan(Number.POSITIVE_INFINITY);
});
