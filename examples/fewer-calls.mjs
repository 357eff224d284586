// @vd/svd-pipeline: the same video with fewer and cheaper calls of the network, and how near it is to the exact one.
import { createRequire } from "node:module";
import { dirname, join } from "node:path";
import { StableVideoDiffusionPipeline } from "@vd/svd-pipeline";

const model = dirname(createRequire(import.meta.url).resolve("@vd/model-tiny-svd/package.json"));
const pipeline = await StableVideoDiffusionPipeline.fromPretrained(model);
const options = {
  ...{ image: join(model, "samples/one-ball.png"), width: 64, height: 64, numFrames: 4, steps: 10, seed: 42 },
  onWarning: (message) => console.log("warning:", message),
};

// What it will take, before anything is computed.
const { stages } = await pipeline.plan({ ...options, fast: true });
for (const { name, runs, fewestRuns } of stages.filter(({ name }) => name.startsWith("denoise")))
  console.log(`${name}: ${fewestRuns === undefined ? runs : `${fewestRuns} to ${runs}`} times`);

const exact = await pipeline.generate(options);
for (const savings of [{ guidanceMinSigma: 0.2 }, { featureInterval: 2 }, { skipThreshold: 0.05 }, { fast: true }]) {
  const { data, denoiserCalls } = await pipeline.generate({ ...options, ...savings });
  const squares = data.reduce((sum, value, i) => sum + (value - exact.data[i]) ** 2, 0);
  const psnr = 10 * Math.log10((255 ** 2 * data.length) / squares);
  const calls = Object.entries(denoiserCalls).filter(([, count]) => count > 0);
  console.log(
    JSON.stringify(savings),
    "PSNR",
    psnr.toFixed(1),
    "dB:",
    calls.map(([kind, n]) => `${n} ${kind}`).join("; "),
  );
}

// A sampler of distilled models on one that is not: the pipeline says so.
await pipeline.generate({ ...options, numFrames: 1, steps: 4, sampler: "animatelcm" });

// A distilled model takes few steps without guidance by itself. Its UNet: a folder, or a file in either way of naming.
const distilled = await StableVideoDiffusionPipeline.fromPretrained(model, {
  unet: join(model, "unet"),
  distilled: true,
});
console.log("distilled:", distilled.defaults.steps, "steps, guidance", distilled.defaults.maxGuidance);
