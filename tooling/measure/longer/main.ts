/** How well videos hold together that are longer than what the model makes at a time: motion and colours at the seams, and how far the
 *  colours drift, for several ways of going on. The table of docs/longer.md.
 *
 *  TSX_TSCONFIG_PATH=tsconfig.json npx -y pnpm@10.34.9 exec tsx tooling/measure/longer/main.ts [--model DIR] [--device cpu|cuda]
 *    [--threads N] [--frames N] [--steps N] [--seed N] [--pictures NAME,…] [--ways NAME,…] */
import { join } from "node:path";
import { parseArgs } from "node:util";
import {
  type Continuity,
  type GeneratedVideo,
  type GenerateOptions,
  measureContinuity,
  StableVideoDiffusionPipeline,
} from "@vd/svd-pipeline";

const { values } = parseArgs({
  options: {
    model: { type: "string", default: "models/tiny-svd" },
    device: { type: "string", default: "cpu" },
    threads: { type: "string", default: "2" },
    frames: { type: "string", default: "54" },
    steps: { type: "string", default: "10" },
    seed: { type: "string", default: "5" },
    pictures: { type: "string", default: "one-ball,one-ball-pinwheel" },
    ways: { type: "string", default: "last-frame,overlap-1,overlap-4,held" },
  },
});

const pipeline = await StableVideoDiffusionPipeline.fromPretrained(values.model, {
  ...{ device: values.device as "cpu" | "cuda", threads: Number(values.threads) },
});
const common = (picture: string): GenerateOptions => ({
  ...{ image: join(values.model, "samples", `${picture}.png`), seed: Number(values.seed) },
  ...{ numFrames: Number(values.frames), steps: Number(values.steps) },
});

/** What users do by hand: the last frame of each clip is the picture of the next. */
async function byLastFrame(options: GenerateOptions): Promise<GeneratedVideo> {
  const { numFrames: length } = pipeline.defaults;
  const clips: GeneratedVideo[] = [];
  const numClips = Math.ceil((options.numFrames! - 1) / (length - 1));
  for (let i = 0; i < numClips; i++) {
    const image = clips.at(-1) ? [...clips.at(-1)!].at(-1)! : options.image;
    clips.push(await pipeline.generate({ ...options, image, numFrames: length, seed: Number(values.seed) + i }));
  }
  const frames = clips.flatMap((clip, i) => [...clip].slice(i === 0 ? 0 : 1)).slice(0, options.numFrames);
  const seams = Array.from({ length: numClips - 1 }, (_, i) => length + i * (length - 1));
  const frame = (i: number) => frames[i]!.data;
  return { ...clips[0]!, numFrames: frames.length, seams, frame };
}

const WAYS: Readonly<Record<string, (options: GenerateOptions) => Promise<GeneratedVideo>>> = {
  "last-frame": byLastFrame,
  "overlap-1": (options) => pipeline.generate({ ...options, overlap: 1, holdColours: 0 }),
  "overlap-4": (options) => pipeline.generate({ ...options, overlap: 4, holdColours: 0 }),
  held: (options) => pipeline.generate({ ...options, overlap: 4 }),
  loop: (options) => pipeline.generate({ ...options, loop: true }),
};

const signed = (value: number) => `${value < 0 ? "−" : "+"}${Math.abs(value).toFixed(1)}`;

function row({ seams, driftByChannel }: Continuity): string {
  const motions = seams.map(({ motion }) => motion);
  const steps = seams.map(({ colourStep }) => colourStep);
  const range = `${Math.min(...motions).toFixed(2)} to ${Math.max(...motions).toFixed(2)}`;
  return `${range} | ${Math.max(...steps).toFixed(2)} | ${driftByChannel.map(signed).join(" ")}`;
}

console.log("| picture | way | motion at seams | largest colour step | drift of red, green, blue |");
console.log("| --- | --- | --- | --- | --- |");
for (const picture of values.pictures.split(","))
  for (const name of values.ways.split(",")) {
    const way = WAYS[name];
    if (!way) throw new RangeError(`--ways knows ${Object.keys(WAYS).join(", ")}, not ${name}`);
    console.log(`| ${picture} | ${name} | ${row(measureContinuity(await way(common(picture))))} |`);
  }
pipeline.dispose();
