// Generations at the sizes that users ask for, with a model at full size or a small one: memory in full and low use, bits
// that must not change, ragged sizes, and how long the event loop waits meanwhile. Needs --model DIR.
import { writeFileSync } from "node:fs";
import { parseArgs } from "node:util";
import { openDevice } from "@vd/kernels-native";
import { type GenerateOptions, StableVideoDiffusionPipeline } from "@vd/svd-pipeline";
import { about } from "./about";
import { leastFree } from "./least-free";
import { joinSizeRuns } from "./size-runs";

const { values: options } = parseArgs({
  options: {
    device: { type: "string", default: "cuda" },
    model: { type: "string", default: "models/tiny-svd" },
    steps: { type: "string", default: "2" },
    // Runs of each size.
    rounds: { type: "string", default: "3" },
    // Names of sizes to run, with commas between them; default all.
    only: { type: "string" },
    json: { type: "string" },
  },
});

interface Size {
  name: string;
  options: Partial<GenerateOptions>;
  /** Name of a run whose frames this one's must equal. */
  sameAs?: string;
  /** Name of a run from whose frames this one's may differ by rounding. */
  near?: string;
}

const XT = { width: 1024, height: 576, numFrames: 25 };
const SIZES: readonly Size[] = [
  { name: "25 frames 1024x576", options: XT },
  { name: "again", options: XT, sameAs: "25 frames 1024x576" },
  { name: "low memory", options: { ...XT, memory: "low" }, sameAs: "25 frames 1024x576" },
  { name: "least memory", options: { ...XT, memory: "lowest" }, near: "25 frames 1024x576" },
  { name: "14 frames 1024x576", options: { ...XT, numFrames: 14 } },
  {
    name: "14 frames 1024x576, low memory",
    options: { ...XT, numFrames: 14, memory: "low" },
    sameAs: "14 frames 1024x576",
  },
  { name: "25 frames 512x512", options: { ...XT, width: 512, height: 512 } },
  { name: "25 frames 768x448", options: { ...XT, width: 768, height: 448 } },
  { name: "7 frames 328x200", options: { width: 328, height: 200, numFrames: 7 } },
  { name: "without guidance", options: { ...XT, minGuidance: 1, maxGuidance: 1 } },
  { name: "DPM-Solver++", options: { ...XT, numFrames: 14, sampler: "dpmpp_2m", steps: 4 } },
];

/** A picture of smooth colours. */
function picture({ width = 256, height = 256 }: Partial<GenerateOptions>) {
  const data = new Uint8Array(3 * width * height);
  for (let y = 0; y < height; y++)
    for (let x = 0; x < width; x++)
      data.set([(255 * x) / width, (255 * y) / height, 128 + 100 * Math.sin((x + y) / 40)], 3 * (y * width + x));
  return { width, height, data };
}

const device = openDevice(options.device as "cpu" | "cuda");
await device.prepare();
const idle = await device.memory();
const pipeline = await StableVideoDiffusionPipeline.fromPretrained(options.model, { device: device.kind });
const frames = new Map<string, Uint8Array>();

/** Standard deviation of the levels: a picture of one colour has none. */
function deviation(data: Uint8Array): number {
  let [sum, squares] = [0, 0];
  for (const value of data) {
    sum += value;
    squares += value * value;
  }
  return Math.sqrt(squares / data.length - (sum / data.length) ** 2);
}

/** Measures how long the turns of the event loop take, which is how long it is blocked: it goes round without a rest. A timer
 *  would add its own interval. */
class TurnWatch {
  private worstMs = 0;
  private last = performance.now();
  private next = setImmediate(() => this.turn());

  private turn(): void {
    const now = performance.now();
    this.worstMs = Math.max(this.worstMs, now - this.last);
    this.last = now;
    this.next = setImmediate(() => this.turn());
  }

  /** Ends it. → the longest turn. */
  end(): number {
    clearImmediate(this.next);
    return this.worstMs;
  }
}

/** How far levels are from others: the largest difference, and their PSNR in dB. */
function levelDistance(a: Uint8Array, b: Uint8Array) {
  let [most, squares] = [0, 0];
  for (const [i, level] of a.entries()) {
    const difference = Math.abs(level - b[i]!);
    most = Math.max(most, difference);
    squares += difference ** 2;
  }
  return { most, psnr: squares === 0 ? "same" : 10 * Math.log10((255 ** 2 * a.length) / squares) };
}

async function measureOnce({ name, options: given, sameAs, near }: Size) {
  const image = picture(given);
  const turns = new TurnWatch();
  const startMs = performance.now();
  const stepsMs: number[] = [];
  const { result, freeBytes } = await leastFree(device, async () => {
    const video = await pipeline.generate({
      ...{ image, seed: 7, steps: Number(options.steps), ...given },
      onProgress: ({ stage, stepUs }) => {
        if (stage === "denoise" && stepUs !== undefined) stepsMs.push(stepUs / 1000);
      },
    });
    return { video, totalMs: performance.now() - startMs, eventLoopWorstMs: turns.end() };
  });
  const { video, totalMs, eventLoopWorstMs } = result;
  if (!frames.has(name)) frames.set(name, video.data);
  const first = sameAs === undefined ? undefined : frames.get(sameAs);
  const neighbour = near === undefined ? undefined : frames.get(near);
  return {
    ...{ name, sinceStartMs: startMs, totalMs, stepsMs, timings: video.timings, plannedBytes: video.peakBytes },
    usedBytes: device.kind === "cuda" ? idle.freeBytes - freeBytes : undefined,
    eventLoopWorstMs,
    deviation: deviation(video.data),
    ...(first ? { sameAs, same: Buffer.compare(first, video.data) === 0 } : {}),
    ...(neighbour ? { near, distance: levelDistance(video.data, neighbour) } : {}),
  };
}

async function measure(size: Size) {
  const runs: Awaited<ReturnType<typeof measureOnce>>[] = [];
  // What other sizes left there would count as this one's. What its own runs keep from one to the next, as page-locked weights, stays.
  await device.trim();
  for (let round = 0; round < Number(options.rounds); round++) runs.push(await measureOnce(size));
  return joinSizeRuns(runs);
}

const chosen = options.only?.split(",");
const unknown = chosen?.filter((name) => SIZES.every((size) => size.name !== name)) ?? [];
if (unknown.length > 0)
  throw new Error(`--only: expected some of ${SIZES.map(({ name }) => name).join(", ")}, got ${unknown.join(", ")}`);
const results = [];
for (const size of SIZES.filter(({ name }) => chosen?.includes(name) ?? true)) {
  const result = await measure(size).catch((error: unknown) => ({ name: size.name, error: String(error) }));
  console.log(JSON.stringify(result));
  results.push(result);
  if (options.json) writeFileSync(options.json, `${JSON.stringify({ ...about(), sizes: results }, null, 1)}\n`);
}
pipeline.dispose();
process.exitCode = results.some((result) => "error" in result || ("same" in result && !result.same)) ? 1 : 0;
