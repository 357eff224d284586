// What callers of both autoencoders wait for, from arrays to arrays. Stable Video Diffusion's decodes within limits of memory: how long
// it takes beside a decode without a limit, what the device gave, and how far the frames are from those. SeedVR2's, with random weights,
// encodes and decodes. Needs --model DIR.
import { writeFileSync } from "node:fs";
import { parseArgs } from "node:util";
import { median, relativeL2 } from "@vd/bench";
import { openDevice } from "@vd/kernels-native";
import { CpuGenerator } from "@vd/tensor";
import { CausalVideoAutoencoder, type Clip, configureAutocast, SvdAutoencoder } from "@vd/vae-opt";
import { about } from "./about";
import { leastFree } from "./least-free";

const { values: options } = parseArgs({
  options: {
    device: { type: "string", default: "cuda" },
    model: { type: "string" },
    // Calls of each row; the first is not timed.
    rounds: { type: "string", default: "4" },
    // One of the two autoencoders: svd or causal.
    only: { type: "string" },
    json: { type: "string" },
  },
});
if (options.model === undefined) throw new Error("decode: expected --model DIR, a model's folder, got none");
if (!(Number(options.rounds) >= 2))
  throw new Error(`decode: --rounds: expected at least 2, the first of which is not timed, got ${options.rounds}`);

const GIB = 2 ** 30;
const FACTOR = 8;
const CHANNELS = 4;

interface Row {
  width: number;
  height: number;
  numFrames: number;
  fp8?: boolean;
  /** In GiB; none: what the device has. The rows of a size behind its first are compared with it. */
  limit?: number;
  /** Fewer calls than usual. */
  rounds?: number;
}

const XT = { width: 1024, height: 576, numFrames: 25 };
const LARGE = { width: 2048, height: 1152, numFrames: 25 };
const ROWS: readonly Row[] = [
  XT,
  ...[10, 8, 4].map((limit) => ({ ...XT, limit })),
  { ...XT, fp8: true },
  { ...XT, fp8: true, limit: 10 },
  ...[80, 24].map((limit) => ({ ...LARGE, limit })),
  ...[10, 6].map((limit) => ({ ...LARGE, limit, rounds: 2 })),
];

/** Memory for SeedVR2's, in GiB: all at once; piece by piece; decoding in turns, within half of what SeedVR's own code takes; and encoding
 *  in turns and decoding in strips, of which fewer calls are made. */
const CAUSAL_LIMITS: readonly { limit: number; rounds?: number }[] = [
  { limit: 80 },
  { limit: 16 },
  { limit: 8.6 },
  { limit: 5, rounds: 2 },
];

/** Calls `work` as often as is asked for. The first call is watched and the others are timed: asking for memory takes a little time.
 *  → also what the device gave, beside `idle`, and the last result. */
async function timed<T>(work: () => Promise<T>, rounds = Number(options.rounds)) {
  await device.trim();
  const { freeBytes } = await leastFree(device, work);
  const samplesMs: number[] = [];
  let result: T | undefined;
  for (let round = 1; round < rounds; round++) {
    const start = performance.now();
    result = await work();
    samplesMs.push(performance.now() - start);
  }
  return { result: result!, row: { medianMs: median(samplesMs), samplesMs, usedBytes: idle.freeBytes - freeBytes } };
}

const device = openDevice(options.device as "cpu" | "cuda");
await device.prepare();
const idle = await device.memory();
const vae = await SvdAutoencoder.fromPretrained(options.model, { device });
const firsts = new Map<string, Float32Array>();

async function measure({ width, height, numFrames, fp8 = false, limit, rounds }: Row) {
  const name = `${numFrames} frames ${width}x${height}`;
  vae.enableWindowsBlackwellOptimizations({ fp8, autotune: false });
  using _scope = configureAutocast(vae, { precision: "float16" });
  const shape = { numFrames, width: width / FACTOR, height: height / FACTOR };
  const data = new CpuGenerator(7).randn(CHANNELS * numFrames * shape.width * shape.height);
  const within = limit === undefined ? {} : { maxBytes: limit * GIB };
  const { message, peakBytes } = await vae.plan(shape, within);
  const { result, row } = await timed(async () => (await vae.decode({ ...shape, data }, within)).data, rounds);
  const about = { name, autoencoder: "svd decode", fp8, limitGiB: limit, plan: message, plannedBytes: peakBytes };
  return { ...about, ...row, distance: distanceToFirst(name, result) };
}

/** Distance to the first result of that name. */
function distanceToFirst(name: string, result: Float32Array): number {
  if (!firsts.has(name)) firsts.set(name, result);
  return relativeL2(result, firsts.get(name)!);
}

/** Encodes and decodes 21 frames of 1280x720. */
async function measureCausal({ limit, rounds }: (typeof CAUSAL_LIMITS)[number]) {
  const causal = await CausalVideoAutoencoder.withRandomWeights({ device, maxBytes: limit * GIB });
  const [latentFrames, height, width] = [6, 90, 160];
  const latents: Clip = {
    values: new CpuGenerator(7).randn(16 * latentFrames * height * width),
    dims: [latentFrames, height, width, 16],
  };
  const plans = await causal.plan({ width: FACTOR * width, height: FACTOR * height });
  const decoded = await timed(() => causal.decode(latents), rounds);
  const { values, dims } = decoded.result;
  const name = `${dims[0]} frames ${dims[2]}x${dims[1]}`;
  const distances = { decode: distanceToFirst(`causal decode ${name}`, values), encode: 0 };
  // The first row's frames in all rows, so that what they encode to can be compared.
  const frames: Clip = { values: firsts.get(`causal decode ${name}`)!.map(Math.tanh), dims };
  const encoded = await timed(() => causal.encode(frames), rounds);
  distances.encode = distanceToFirst(`causal encode ${name}`, encoded.result.mode);
  await causal.close();
  return (["decode", "encode"] as const).map((direction) => ({
    ...{ name, autoencoder: `causal ${direction}`, limitGiB: limit, plan: plans[direction] },
    ...(direction === "decode" ? decoded.row : encoded.row),
    distance: distances[direction],
  }));
}

const rows: object[] = [];
function keep(result: object): void {
  console.log(JSON.stringify(result));
  rows.push(result);
  if (options.json) writeFileSync(options.json, `${JSON.stringify({ ...about(), rows }, null, 1)}\n`);
}
for (const row of options.only === "causal" ? [] : ROWS)
  keep(await measure(row).catch((error: unknown) => ({ ...row, error: String(error) })));
await vae.close();
for (const asked of options.only === "svd" ? [] : CAUSAL_LIMITS)
  try {
    for (const row of await measureCausal(asked)) keep(row);
  } catch (error) {
    keep({ autoencoder: "causal", limitGiB: asked.limit, error: String(error) });
  }
process.exitCode = rows.some((row) => "error" in row) ? 1 : 0;
