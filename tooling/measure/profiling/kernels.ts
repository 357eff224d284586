/** Does CUPTI see the kernels that plans say they launch? A small generation on a GPU, counted on both sides run by run;
 *  and does a real tool of NVIDIA's hear our NVTX ranges, where NVTX_INJECTION64_PATH names one.
 *
 *  kernels [--model DIR] [--device cuda|cpu] [--dtype NAME] [--steps N] [--frames N] [--size WxH] [--json FILE]
 *
 *  Exit status 1 where CUPTI does not record or a run differs. */
import { writeFileSync } from "node:fs";
import { setTimeout } from "node:timers/promises";
import { parseArgs } from "node:util";
import { machineInfo } from "@vd/app-parts";
import { testPicture } from "@vd/bench";
import { cupti, type KernelSum, nvtx } from "@vd/kernels-native";
import { createProfiler } from "@vd/profiler";
import { type Precision, StableVideoDiffusionPipeline } from "@vd/svd-pipeline";
import { launchesOf, watchRuns } from "./ran";

const { values } = parseArgs({
  options: {
    model: { type: "string", default: "models/tiny-svd" },
    device: { type: "string", default: "cuda" },
    dtype: { type: "string" },
    steps: { type: "string", default: "4" },
    frames: { type: "string" },
    size: { type: "string" },
    json: { type: "string" },
  },
});

/** Kernels in the table. */
const TOP = 12;
/** How long records of kernels that have ended are waited for: 50 times 10 ms. */
const [MOST_LOOKS, LOOK_EVERY_MS] = [50, 10];
/** Pixels of the picture where no size is asked for. */
const SIDE = 128;

/** Runs alike of one generation: launches that plans say, and kernels that CUPTI recorded meanwhile. */
interface Counted {
  numRuns: number;
  planned: number;
  seen: number;
  /** Runs whose two figures differ. */
  numDifferent: number;
}

const none = (): Counted => ({ numRuns: 0, planned: 0, seen: 0, numDifferent: 0 });

/** Of a plan that is loaded, not of one that runs: the next stage's weights are packed while the one before it runs. */
const packsWeights = ({ name }: KernelSum) => name.endsWith("_pack");

/** Takes what CUPTI has until it has `wanted` kernels of runs: records come a little after their kernels have ended. */
async function takeKernels(wanted: number): Promise<KernelSum[]> {
  const all: KernelSum[] = [];
  let seen = 0;
  for (let i = 0; i < MOST_LOOKS && (i === 0 || seen < wanted); i++) {
    if (i > 0) await setTimeout(LOOK_EVERY_MS);
    const sums = cupti.take().filter((sum) => !packsWeights(sum));
    all.push(...sums);
    seen += sums.reduce((sum, { count }) => sum + count, 0);
  }
  return all;
}

/** Counts every run that `body` makes, and adds up all kernels of runs by name. Kernels that pack weights are left out. */
async function countRuns(body: () => Promise<unknown>) {
  const counted = { graph: none(), rows: none() };
  const kernels = new Map<string, KernelSum>();
  await watchRuns(async (program, run) => {
    // What packed weights a moment ago.
    await setTimeout(LOOK_EVERY_MS);
    cupti.take();
    const times = await run();
    const planned = launchesOf(program);
    const sums = await takeKernels(planned);
    const seen = sums.reduce((sum, { count }) => sum + count, 0);
    const so = counted[times.replayed ? "graph" : "rows"];
    so.numRuns++;
    so.planned += planned;
    so.seen += seen;
    so.numDifferent += Number(planned !== seen);
    for (const { name, count, totalUs } of sums) {
      const known = kernels.get(name);
      kernels.set(name, { name, count: count + (known?.count ?? 0), totalUs: totalUs + (known?.totalUs ?? 0) });
    }
    return times;
  }, body);
  return { ...counted, kernels: [...kernels.values()].sort((a, b) => b.totalUs - a.totalUs) };
}

async function generate(pipeline: StableVideoDiffusionPipeline, isProfiled: boolean): Promise<void> {
  const [width, height] = values.size?.split("x").map(Number) ?? [];
  const sizes = width === undefined ? {} : { width, height };
  const numFrames = values.frames === undefined ? undefined : Number(values.frames);
  const image = testPicture(width ?? SIDE, height ?? SIDE);
  const profiler = isProfiled ? { profiler: createProfiler() } : {};
  await pipeline.generate({ image, ...sizes, numFrames, steps: Number(values.steps), seed: 1, ...profiler });
}

const line = (what: string, { numRuns, planned, seen, numDifferent }: Counted) =>
  `${what}: ${numRuns} runs, ${planned} launches planned, ${seen} kernels seen by CUPTI, ${numDifferent} runs differ`;

async function main(): Promise<void> {
  const reason = cupti.start();
  const device = values.device as "cpu" | "cuda";
  const load = { device, dtype: values.dtype as Precision | undefined };
  const pipeline = await StableVideoDiffusionPipeline.fromPretrained(values.model, load);
  const plain = await countRuns(() => generate(pipeline, false));
  const profiled = await countRuns(() => generate(pipeline, true));
  pipeline.dispose();
  const numRanges = cupti.takeRanges();
  cupti.stop();
  console.log(`CUPTI: ${reason || "records kernels"}`);
  console.log(`NVTX: ${nvtx.reason() || `a tool listens; CUPTI heard ${numRanges} ranges of scopes and rows`}`);
  console.log(line("graphs, without a profiler", plain.graph));
  console.log(line("rows, without a profiler", plain.rows));
  console.log(line("graphs, with a profiler", profiled.graph));
  console.log(line("rows, with a profiler", profiled.rows));
  for (const { name, count, totalUs } of plain.kernels.slice(0, TOP))
    console.log(`${(totalUs / 1000).toFixed(3).padStart(12)} ms ${String(count).padStart(7)}x  ${name}`);
  const result = {
    ...{ format: "vd-kernels", version: 1, createdAt: new Date().toISOString(), machine: machineInfo(device) },
    ...{ cupti: reason, nvtx: nvtx.reason(), numRanges, plain, profiled },
  };
  if (values.json !== undefined) writeFileSync(values.json, `${JSON.stringify(result, null, 1)}\n`);
  const counts = [plain.graph, plain.rows, profiled.graph, profiled.rows];
  if (reason !== "" || counts.some(({ numDifferent }) => numDifferent > 0)) process.exitCode = 1;
}

await main();
