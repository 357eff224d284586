// What does not show in the suite: how fast weights get to the device, that memory comes back, that errors leave the
// device usable, and that the event loop stays free meanwhile.
import {
  closeSync,
  ftruncateSync,
  mkdtempSync,
  openSync,
  readFileSync,
  rmSync,
  writeFileSync,
  writeSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { monitorEventLoopDelay } from "node:perf_hooks";
import { parseArgs } from "node:util";
import { type Device, isVdError, openDevice } from "@vd/kernels-native";
import { StableVideoDiffusionPipeline } from "@vd/svd-pipeline";
import { type Graph, layoutGraph, mapWeightFile, Plan, packedTensor, peakProcessBytes } from "@vd/tensor";
import { loadFixture } from "../../goldens/fixture";
import { about } from "./about";

const { values: options } = parseArgs({
  options: {
    device: { type: "string", default: "cuda" },
    gigabytes: { type: "string", default: "3" },
    model: { type: "string", default: "models/tiny-svd" },
    generations: { type: "string", default: "200" },
    json: { type: "string" },
  },
});

const WIDTH = 4096;
const CONV = 1280;
/** A block of both kinds: a matrix that is read as it is stored, and a filter that is packed. */
const BLOCK_BYTES = 2 * (WIDTH * WIDTH + 9 * CONV * CONV);

/** A file of many weights in the page cache, its numbers small. */
function makeWeights(folder: string, bytes: number): string {
  const path = join(folder, "weights.bin");
  const part = Buffer.alloc(64 << 20, 0x01);
  const file = openSync(path, "w");
  for (let at = 0; at < bytes; at += part.length) writeSync(file, part);
  ftruncateSync(file, bytes);
  closeSync(file);
  return path;
}

/** Loads `gigabytes` of float16 weights as a model would and runs the rows once. */
async function measureWeights(device: Device, gigabytes: number) {
  const folder = mkdtempSync(join(tmpdir(), "vd-measure-"));
  try {
    const numBlocks = Math.ceil((gigabytes * 1e9) / BLOCK_BYTES);
    const storage = mapWeightFile(makeWeights(folder, numBlocks * BLOCK_BYTES));
    const build = (g: Graph) => {
      const x = g.input("x", [1, 1, 8, WIDTH]);
      const pixels = g.input("pixels", [1, 1, 8, 8, CONV]);
      for (let i = 0; i < numBlocks; i++) {
        const weight = packedTensor(storage, [WIDTH, WIDTH], "f16", i * BLOCK_BYTES);
        const filter = packedTensor(storage, [CONV, CONV, 1, 3, 3], "f16", i * BLOCK_BYTES + 2 * WIDTH * WIDTH);
        g.linear({ name: `linear ${i}`, x, weight });
        g.conv({ name: `conv ${i}`, x: pixels, weight: filter, padding: [0, 0, 1, 1, 1, 1] });
      }
    };
    const rssBefore = peakProcessBytes();
    const startMs = performance.now();
    const plan = await Plan.load(device, layoutGraph(build, { dtype: device.kind === "cpu" ? "f32" : "f16" }));
    const loadMs = performance.now() - startMs;
    await plan.run();
    const runMs = performance.now() - startMs - loadMs;
    const second = performance.now();
    const again = await Plan.load(device, plan.layout);
    const reloadMs = performance.now() - second;
    again.freeSync();
    plan.freeSync();
    return { bytes: numBlocks * BLOCK_BYTES, loadMs, runMs, reloadMs, rssGrowthBytes: peakProcessBytes() - rssBefore };
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

/** Generates the tiny model's video again and again and looks at what stays allocated. */
async function measureLeaks(device: Device, numRuns: number) {
  const fixture = loadFixture("fixtures/tiny-svd/goldens.json");
  const [height, width] = fixture.shape("image_u8") as [number, number];
  const image = { width, height, data: fixture.bytes("image_u8") };
  const pipeline = await StableVideoDiffusionPipeline.fromPretrained(options.model, { device: device.kind });
  const used: number[] = [];
  let first: Uint8Array | undefined;
  let numDifferent = 0;
  const startMs = performance.now();
  for (let i = 0; i < numRuns; i++) {
    const video = await pipeline.generate({ image, steps: 2, numFrames: 4, seed: 1 });
    first ??= video.data;
    if (Buffer.compare(first, video.data) !== 0) numDifferent++;
    const { freeBytes, totalBytes } = await device.memory();
    used.push(totalBytes - freeBytes);
  }
  const msPerRun = (performance.now() - startMs) / numRuns;
  pipeline.dispose();
  const rss = Number(/VmRSS:\s+(\d+)/.exec(readFileSync("/proc/self/status", "utf8"))?.[1] ?? 0) * 1024;
  return {
    numRuns,
    numDifferent,
    msPerRun,
    usedAfterFirst: used[0],
    usedAfterTenth: used[9],
    usedAtEnd: used.at(-1),
    rss,
  };
}

/** Asks for more memory than there is, then works on. */
async function measureErrors(device: Device) {
  const { totalBytes } = await device.memory();
  const failure = await device.allocate(2 * totalBytes).then(
    () => "nothing",
    (error: unknown) => (isVdError(error) ? `${error.code}: ${error.message}` : String(error)),
  );
  const plan = await Plan.load(
    device,
    layoutGraph((g) => g.output("y", g.copy({ x: g.input("x", [1, 1, 1, 8]) }))),
  );
  plan.writeSync("x", [1, 2, 3, 4, 5, 6, 7, 8]);
  await plan.run();
  const after = [...plan.readSync("y")];
  plan.freeSync();
  return { failure, after };
}

const device = openDevice(options.device as "cpu" | "cuda");
const delay = monitorEventLoopDelay({ resolution: 1 });
const startMs = performance.now();
await device.prepare();
const openMs = performance.now() - startMs;
const errors = device.kind === "cpu" ? undefined : await measureErrors(device);
delay.enable();
const weights = await measureWeights(device, Number(options.gigabytes));
delay.disable();
const eventLoopMs = { mean: delay.mean / 1e6, worst: delay.max / 1e6 };
const leaks = await measureLeaks(device, Number(options.generations));
const result = { ...about(), measure: { openMs, errors, weights, eventLoopMs, leaks } };
console.log(JSON.stringify(result.measure, null, 1));
if (options.json) writeFileSync(options.json, `${JSON.stringify(result, null, 1)}\n`);
