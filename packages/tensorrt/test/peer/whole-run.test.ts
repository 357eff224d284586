import { join } from "node:path";
import { StableVideoDiffusionPipeline } from "@vd/svd-pipeline";
import { expect, it } from "vitest";
import { OnnxModels, wholeRun } from "../../src/index";
import { TINY } from "../support/fixtures";
import { temporaryFolder } from "../support/temporary-folder";

it("a whole run in ONNX Runtime gives our video", async () => {
  const image = join(TINY, "samples/one-ball.png");
  const size = { width: 64, height: 64 };
  const options = {
    steps: 2,
    seed: 9,
    fps: 7,
    motionBucketId: 100,
    noiseAugStrength: 0.02,
    minGuidance: 1,
    maxGuidance: 2,
  };
  const models = await OnnxModels.open({ modelDir: TINY, workDir: temporaryFolder(), threads: 2, frames: 3, ...size });
  const theirs = await wholeRun(models, { image, ...options });
  await models.close();
  const pipeline = await StableVideoDiffusionPipeline.fromPretrained(TINY, { threads: 2 });
  const ours = await pipeline.generate({ image, fit: "stretch", numFrames: 3, ...size, ...options });
  const steps = Array.from(ours.data, (value, i) => Math.abs(value - theirs.data[i]!));
  expect(steps.length).toBe(theirs.data.length);
  expect(Math.max(...steps)).toBeLessThanOrEqual(1);
  expect(steps.filter((step) => step > 0).length / steps.length).toBeLessThan(0.01);
  expect(theirs.timingsUs.total).toBeGreaterThan(theirs.timingsUs.denoise);
});
