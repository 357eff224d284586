/** What profiling costs: generations with and without a profiler in turns, each step beside the same step of its neighbour.
 *
 *  TSX_TSCONFIG_PATH=tsconfig.json npx -y pnpm@10.34.9 exec tsx tooling/measure/profiling/overhead.ts \
 *    [--model DIR] [--image FILE] [--device cpu|cuda] [--dtype NAME] [--rounds N] [--steps N] [--frames N] [--size WxH]
 *    [--json FILE] [--most RATIO]
 *
 *  --most: exit status 1 if a step of the denoiser takes more than RATIO times as long with a profiler: the median over all
 *  pairs of steps, at least nine. Every round is run, whatever the earlier ones said. */
import { readFileSync, writeFileSync } from "node:fs";
import { parseArgs } from "node:util";
import { machineInfo } from "@vd/app-parts";
import { encodePlainPng, readPicture, testPicture } from "@vd/bench";
import { createProfiler, type ReportNode } from "@vd/profiler";
import { type GenerateOptions, type Precision, StableVideoDiffusionPipeline } from "@vd/svd-pipeline";
import { noteRuns, type Ran } from "./ran";
import { exceeds, type RatioSummary, summarizePairs } from "./ratios";

const { values } = parseArgs({
  options: {
    model: { type: "string", default: "models/tiny-svd" },
    image: { type: "string" },
    device: { type: "string", default: "cpu" },
    dtype: { type: "string" },
    rounds: { type: "string", default: "9" },
    steps: { type: "string", default: "4" },
    frames: { type: "string" },
    size: { type: "string" },
    json: { type: "string" },
    most: { type: "string" },
  },
});

/** The first step brings weights into caches and may record a graph; the second is the first that replays it. */
const SKIPPED_STEPS = 2;
/** Fewer scopes than any generation has. */
const LEAST_SCOPES = 100;
const KINDS = ["off", "on"] as const;
type Kind = (typeof KINDS)[number];
type Times = Record<"wall" | "cpu" | "step", number[]>;

async function options(): Promise<GenerateOptions> {
  const { frames, size } = values;
  const [width = 128, height = 128] = size?.split("x").map(Number) ?? [];
  const bytes = values.image === undefined ? encodePlainPng(testPicture(width, height)) : readFileSync(values.image);
  const image = await readPicture(values.image ?? "picture", bytes);
  const sizes = size === undefined ? {} : { width, height };
  return { image, ...sizes, numFrames: frames ? Number(frames) : undefined, steps: Number(values.steps), seed: 1 };
}

function countNodes(nodes: readonly ReportNode[]): number {
  return nodes.reduce((sum, node) => sum + 1 + countNodes(node.children), 0);
}

/** Wall time and processor time of a generation, and wall time of each of its later steps, in ms. */
async function generateOnce(
  pipeline: StableVideoDiffusionPipeline,
  kind: Kind,
  given: GenerateOptions,
): Promise<Times> {
  const stepMs: number[] = [];
  const profiler = kind === "on" ? createProfiler() : undefined;
  const before = process.cpuUsage();
  const startMs = performance.now();
  await pipeline.generate({
    ...given,
    ...(profiler && { profiler }),
    onProgress: ({ stage, stepUs }) => void (stage === "denoise" && stepUs && stepMs.push(stepUs / 1e3)),
  });
  const wallMs = performance.now() - startMs;
  const { user, system } = process.cpuUsage(before);
  if (profiler && countNodes(profiler.report().scopes) < LEAST_SCOPES) throw new Error("the profile is empty");
  return { wall: [wallMs], cpu: [(user + system) / 1e3], step: stepMs.slice(SKIPPED_STEPS) };
}

async function measure(pipeline: StableVideoDiffusionPipeline, given: GenerateOptions) {
  const empty = (): Times => ({ wall: [], cpu: [], step: [] });
  const found = { off: empty(), on: empty() };
  const rounds = Number(values.rounds);
  for (let round = 0; round < rounds; round++) {
    // The order changes, so that a drift of the machine meets both.
    for (const kind of round % 2 === 0 ? KINDS : KINDS.toReversed()) {
      const times = await generateOnce(pipeline, kind, given);
      for (const what of ["wall", "cpu", "step"] as const) found[kind][what].push(...times[what]);
    }
    console.error(`round ${round + 1} of ${rounds}`);
  }
  return found;
}

const line = (what: string, { offMs, onMs, ratio, lowerQuartile, upperQuartile, numPairs }: RatioSummary) =>
  `${what}: off ${offMs.toFixed(2)} ms, on ${onMs.toFixed(2)} ms, ratio ${ratio.toFixed(4)} (half of ${numPairs} pairs from ${lowerQuartile.toFixed(4)} to ${upperQuartile.toFixed(4)})`;

const ranLine = (kind: Kind, { numReplayed, numLaunched, numTimed, numRows, numLaunches }: Ran) =>
  `denoiser, ${kind}: ${numReplayed} runs replayed as a graph, ${numLaunched} row by row, ${numTimed} with every row timed; ${numRows} rows, ${numLaunches} launches`;

async function main(): Promise<void> {
  const device = values.device as "cpu" | "cuda";
  const load = { device, dtype: values.dtype as Precision | undefined };
  const pipeline = await StableVideoDiffusionPipeline.fromPretrained(values.model, load);
  const given = await options();
  const ran = {} as Record<Kind, Ran>;
  // Not timed: these also warm up.
  for (const kind of KINDS) ran[kind] = await noteRuns(() => generateOnce(pipeline, kind, given));
  const { off, on } = await measure(pipeline, given);
  const { width, height, numFrames } = {
    ...pipeline.defaults,
    ...Object.fromEntries(Object.entries(given).filter(([, v]) => v !== undefined)),
  };
  pipeline.dispose();
  const summary = {
    wall: summarizePairs(off.wall, on.wall),
    cpu: summarizePairs(off.cpu, on.cpu),
    step: summarizePairs(off.step, on.step),
  };
  for (const [what, each] of Object.entries(summary)) console.log(line(what, each));
  for (const kind of KINDS) console.log(ranLine(kind, ran[kind]));
  const result = {
    ...{ format: "vd-overhead", version: 1, createdAt: new Date().toISOString(), machine: machineInfo(device) },
    options: { width, height, numFrames, steps: Number(values.steps), rounds: Number(values.rounds) },
    ...{ ran, summary, stepMs: { off: off.step, on: on.step } },
  };
  if (values.json !== undefined) writeFileSync(values.json, `${JSON.stringify(result, null, 1)}\n`);
  if (values.most !== undefined && exceeds(summary.step, Number(values.most))) process.exitCode = 1;
}

await main();
