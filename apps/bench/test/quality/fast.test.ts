import { StableVideoDiffusionPipeline } from "@vd/svd-pipeline";
import { FAST_QUALITY } from "@vd/svd-pipeline/options";
import { expect, it } from "vitest";
import { compareSavings } from "../../src/quality/compare-variants";
import { TINY_SVD } from "../support/harness";

it("fast keeps to the quality that it names, with fewer calls", async () => {
  const pipeline = await StableVideoDiffusionPipeline.fromPretrained(TINY_SVD, { threads: 2 });
  for (const picture of ["one-ball", "two-balls-pinwheel"]) {
    const options = { image: `${TINY_SVD}/samples/${picture}.png`, width: 64, height: 64, numFrames: 3, seed: 3 };
    const [, fast] = await compareSavings(pipeline, options, [{ fast: true }], { rounds: 1 });
    expect(fast!.psnr).toBeGreaterThan(FAST_QUALITY.psnr);
    expect(fast!.ssim).toBeGreaterThan(FAST_QUALITY.ssim);
    const { full, unguided, skipped } = fast!.calls;
    expect(full + unguided / 2).toBeLessThanOrEqual(8);
    expect(skipped).toBeGreaterThan(0);
  }
  pipeline.dispose();
});
