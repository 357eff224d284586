// A generation without packages beside this file: a model folder and a picture of the fixtures in, PNG frames out.
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { parseArgs } from "node:util";
import { encodePlainPng } from "@vd/bench";
import { type Precision, StableVideoDiffusionPipeline } from "@vd/svd-pipeline";
import { loadFixture } from "../../goldens/fixture";
import { about } from "./about";

const { values: options } = parseArgs({
  options: {
    device: { type: "string", default: "cuda" },
    dtype: { type: "string" },
    model: { type: "string", default: "models/tiny-svd" },
    picture: { type: "string", default: "fixtures/tiny-svd/goldens.json" },
    out: { type: "string" },
    json: { type: "string" },
    seed: { type: "string", default: "42" },
    steps: { type: "string" },
    frames: { type: "string" },
    size: { type: "string" },
  },
});

const number = (text: string | undefined) => (text === undefined ? undefined : Number(text));
const fixture = loadFixture(options.picture);
const [pictureHeight, pictureWidth] = fixture.shape("image_u8") as [number, number];
const image = { width: pictureWidth, height: pictureHeight, data: fixture.bytes("image_u8") };
const [width, height] = options.size?.split("x").map(Number) ?? [];

const startMs = performance.now();
const pipeline = await StableVideoDiffusionPipeline.fromPretrained(options.model, {
  device: options.device as "cpu" | "cuda",
  dtype: options.dtype as Precision | undefined,
});
const loadMs = performance.now() - startMs;
const stepsUs: number[] = [];
const video = await pipeline.generate({
  ...{ image, width, height, steps: number(options.steps), numFrames: number(options.frames) },
  seed: BigInt(options.seed),
  onProgress: ({ stage, stepUs }) => {
    if (stage === "denoise" && stepUs !== undefined) stepsUs.push(Math.round(stepUs));
  },
});
const totalMs = performance.now() - startMs;
pipeline.dispose();
const { timings, peakBytes, numFrames } = video;
const result = {
  ...about(),
  generation: { width: video.width, height: video.height, numFrames, loadMs, totalMs, stepsUs, timings, peakBytes },
};
console.log(JSON.stringify(result.generation));
if (options.json) writeFileSync(options.json, `${JSON.stringify(result, null, 1)}\n`);
if (options.out) {
  mkdirSync(options.out, { recursive: true });
  for (let i = 0; i < numFrames; i++)
    writeFileSync(
      join(options.out, `frame-${String(i).padStart(3, "0")}.png`),
      encodePlainPng({ width: video.width, height: video.height, data: video.frame(i) }),
    );
}
