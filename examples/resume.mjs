// @vd/svd-pipeline: a generation that is stopped after two steps and goes on from the disk, with the same frames in the end.
import { mkdtempSync, rmSync } from "node:fs";
import { createRequire } from "node:module";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { resumeState, StableVideoDiffusionPipeline } from "@vd/svd-pipeline";

const model = dirname(createRequire(import.meta.url).resolve("@vd/model-tiny-svd/package.json"));
const folder = mkdtempSync(join(tmpdir(), "vd-example-"));
const pipeline = await StableVideoDiffusionPipeline.fromPretrained(model);
const options = {
  image: join(model, "samples/one-ball.png"),
  numFrames: 4,
  steps: 4,
  maxGuidance: 1, // no second call of the network
  seed: 42,
  resume: join(folder, "state"),
};

// Stopping stands for what happens to a process: kill -9 and a power cut lose one step at most, too.
const stop = new AbortController();
await pipeline
  .generate({
    ...options,
    signal: stop.signal,
    onProgress: ({ stage, step }) => stage === "denoise" && step === 2 && stop.abort(),
  })
  .catch((error) => console.log(error.name));
const state = await resumeState(options.resume);
console.log("on the disk:", state.step, "of", state.steps, "steps");

const video = await pipeline.generate({
  ...options,
  onProgress: ({ stage, step, stepUs }) => stage === "denoise" && stepUs && console.log("step", step),
});
console.log(video.numFrames, "frames; the state is gone:", (await resumeState(options.resume)) === undefined);
pipeline.dispose();
rmSync(folder, { recursive: true });
