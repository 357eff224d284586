// @vd/vae-opt alone: a picture to latents and back, whole, in chunks of frames and in tiles.
import { createRequire } from "node:module";
import { dirname, join } from "node:path";
import { collectFrames, createFrameLoader, optimizeForWindowsBlackwell, SvdAutoencoder } from "@vd/vae-opt";

const model = dirname(createRequire(import.meta.url).resolve("@vd/model-tiny-svd/package.json"));
const vae = optimizeForWindowsBlackwell(await SvdAutoencoder.fromPretrained(model));
for (const { name, state, reason } of vae.optimizationReport.changes) console.log(`${name} ${state}: ${reason}`);

const size = { width: 128, height: 128 };
const picture = await collectFrames(createFrameLoader([join(model, "samples/one-ball.png")], { size }));
const one = await vae.encode(picture); // 16 x 16 x 4

const numFrames = 4;
const data = new Float32Array(numFrames * one.data.length);
for (let frame = 0; frame < numFrames; frame++) data.set(one.data, frame * one.data.length);
const clip = { ...one, numFrames, data };

const whole = await vae.decode(clip);
const chunked = await vae.decode(clip, { pieces: { chunkFrames: 1 } });
const plan = await vae.plan(clip, { maxBytes: 16e6 });
console.log(plan.message);
const tiled = await vae.decode(clip, { pieces: plan.pieces });
await vae.close();

const isSame = ({ data: values }) => values.every((value, i) => Math.abs(value - whole.data[i]) < 1e-4);
const error = picture.data.reduce((sum, value, i) => sum + (value - whole.data[i]) ** 2, 0) / picture.data.length;
console.log("PSNR of the first frame:", (10 * Math.log10(4 / error)).toFixed(1), "dB");
console.log("chunks give the same frames:", isSame(chunked));
console.log("tiles give the same frames:", isSame(tiled));
