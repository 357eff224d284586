// Generates a video with a state and writes its frames: a process to be killed at any moment.
import { createHash } from "node:crypto";
import { renameSync, writeFileSync } from "node:fs";
import { StableVideoDiffusionPipeline } from "../../../src/index";

const [model, resume, output, more] = process.argv.slice(2) as [string, string, string, string];
const image = { width: 32, height: 32, data: Uint8Array.from({ length: 3072 }, (_, i) => (i * 37) % 256) };
const say = (what: object) => process.stdout.write(`${JSON.stringify(what)}\n`);

const pipeline = await StableVideoDiffusionPipeline.fromPretrained(model, { threads: 1 });
say({ stage: "open" });
const options = { image, resume, width: 32, height: 32, numFrames: 3, steps: 6, sampler: "ddpm", seed: 7 } as const;
const video = await pipeline.generate({
  ...options,
  decodeChunk: 1,
  isolateDecodeChunks: true,
  ...(JSON.parse(more) as object),
  keepState: true,
  onProgress: ({ stage, step, stepUs, message }) => say({ stage, step, isNew: stepUs !== undefined, message }),
});
say({ stage: "frames", sha256: createHash("sha256").update(video.data).digest("hex") });
writeFileSync(`${output}.tmp`, video.data);
renameSync(`${output}.tmp`, output);
