// @vd/svd-pipeline: videos that are longer than the model's clips, that go on from another one, end where they should, and loop.
import { createRequire } from "node:module";
import { dirname, join } from "node:path";
import { joinClip, measureContinuity, StableVideoDiffusionPipeline } from "@vd/svd-pipeline";

const model = dirname(createRequire(import.meta.url).resolve("@vd/model-tiny-svd/package.json"));
const pipeline = await StableVideoDiffusionPipeline.fromPretrained(model);
const image = join(model, "samples/one-ball.png");
const common = { image, width: 64, height: 64, steps: 4, maxGuidance: 1, seed: 42 };

// Clips of six frames, of which each takes over two of the one before.
const long = await pipeline.generate({ ...common, numFrames: 10, clipFrames: 6, overlap: 2 });
const { seams } = await measureContinuity(long);
console.log(`longer: ${long.numFrames} frames, clips meet at ${seams.map(({ frame }) => frame).join(", ")}`);

// The last frames of a video say where things are and how they move: here those of the one above.
const clip = [...long];
const more = await pipeline.generate({ ...common, image: clip[9], pastFrames: clip.slice(7, 9), numFrames: 5 });
console.log(`going on: ${joinClip(clip, more).numFrames} frames`);

const between = await pipeline.generate({ ...common, numFrames: 6, lastImage: clip[9] });
console.log(`to a last picture: ${between.numFrames} frames`);

const loop = await pipeline.generate({ ...common, numFrames: 6, loop: true });
console.log(`a loop: ${loop.numFrames} frames, the last one leads to frame ${loop.seams.at(-1)}`);

const doubled = await pipeline.generate({ ...common, numFrames: 4, interpolation: "denoise" });
console.log(`twice the frames: ${doubled.numFrames} of ${doubled.fps} a second`);
pipeline.dispose();
