// @vd/vae-opt alone: a picture to latents and back, whole and in chunks of frames.
import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { dirname, join } from "node:path";
import { Device } from "@vd/kernels-native";
import { compile, Weights } from "@vd/tensor";
import { parseVaeConfig, posterior, temporalVae } from "@vd/vae-opt";
import sharp from "sharp";

const model = dirname(createRequire(import.meta.url).resolve("@vd/model-tiny-svd/package.json"));
const config = parseVaeConfig(JSON.parse(readFileSync(join(model, "vae/config.json"), "utf8")));
const vae = temporalVae(Weights.open(join(model, "vae")), config);
const device = Device.cpu();
const size = 128;

const bytes = await sharp(join(model, "samples/one-ball.png")).resize(size, size).removeAlpha().raw().toBuffer();
const pixels = Float32Array.from(bytes, (level) => level / 127.5 - 1);

const encode = await compile(device, (g) => g.output("moments", vae.encode(g, g.input("x", [1, 1, size, size, 3]))));
encode.writeSync("x", pixels);
await encode.run();
const latents = posterior(encode.readSync("moments"), 4).mode; // 16 x 16 x 4

const numFrames = 4;
const clip = new Float32Array(numFrames * latents.length);
for (let frame = 0; frame < numFrames; frame++) clip.set(latents, frame * latents.length);

async function decode(options) {
  const plan = await compile(device, (g) => {
    g.output("frames", vae.decode(g, g.input("z", [1, numFrames, size / 8, size / 8, 4]), options));
  });
  plan.writeSync("z", clip);
  await plan.run();
  return { frames: plan.readSync("frames"), peakBytes: plan.memory.peakBytes };
}

const whole = await decode();
const chunked = await decode({ chunkFrames: 1 });
const first = whole.frames.subarray(0, pixels.length);
const error = first.reduce((sum, value, i) => sum + (value - pixels[i]) ** 2, 0) / pixels.length;
console.log("PSNR of the first frame:", (10 * Math.log10(4 / error)).toFixed(1), "dB");
console.log(
  "chunks give the same frames:",
  chunked.frames.every((value, i) => Math.abs(value - whole.frames[i]) < 1e-4),
);
console.log("memory:", whole.peakBytes, "bytes whole,", chunked.peakBytes, "in chunks");
