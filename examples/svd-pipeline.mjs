// @vd/svd-pipeline: a picture in, frames out, with progress and a way to stop. Writes frame-0.png … into a folder if one
// is named: node examples/svd-pipeline.mjs FOLDER
import { mkdirSync } from "node:fs";
import { createRequire } from "node:module";
import { dirname, join } from "node:path";
import { StableVideoDiffusionPipeline } from "@vd/svd-pipeline";
import sharp from "sharp";

const model = dirname(createRequire(import.meta.url).resolve("@vd/model-tiny-svd/package.json"));
const stop = new AbortController();
process.once("SIGINT", () => stop.abort());

const pipeline = await StableVideoDiffusionPipeline.fromPretrained(model);
const video = await pipeline.generate({
  image: join(model, "samples/one-ball.png"),
  numFrames: 6,
  steps: 4,
  maxGuidance: 1, // no second call of the network
  seed: 42,
  signal: stop.signal,
  onProgress: ({ stage, step, steps }) => console.log(stage, step, "of", steps),
});
console.log(video.numFrames, "frames of", video.width, "x", video.height, "at", video.fps, "a second");

const folder = process.argv[2];
if (folder) {
  mkdirSync(folder, { recursive: true });
  let index = 0;
  for (const { width, height, data } of video) {
    await sharp(data, { raw: { width, height, channels: 3 } })
      .png()
      .toFile(join(folder, `frame-${index++}.png`));
  }
}
