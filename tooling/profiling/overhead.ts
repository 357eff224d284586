/** What profiling costs: generations with and without a profiler, one after the other in turn.
 *
 *  TSX_TSCONFIG_PATH=tooling/tsconfig.json npx -y pnpm@10.34.9 exec tsx tooling/profiling/overhead.ts \
 *    [--model DIR] [--device cpu|cuda] [--rounds N] [--steps N] [--frames N] [--size WxH] */
import { parseArgs } from "node:util";
import { createProfiler, type ReportNode } from "@vd/profiler";
import { type GenerateOptions, type Precision, StableVideoDiffusionPipeline } from "@vd/svd-pipeline";

const { values } = parseArgs({
  options: {
    model: { type: "string", default: "models/tiny-svd" },
    image: { type: "string", default: "models/tiny-svd/samples/one-ball.png" },
    device: { type: "string", default: "cpu" },
    dtype: { type: "string" },
    rounds: { type: "string", default: "9" },
    steps: { type: "string", default: "4" },
    frames: { type: "string" },
    size: { type: "string" },
  },
});

const median = (numbers: readonly number[]): number => {
  const sorted = [...numbers].sort((a, b) => a - b);
  return (sorted[Math.floor((sorted.length - 1) / 2)]! + sorted[Math.ceil((sorted.length - 1) / 2)]!) / 2;
};

function options(): GenerateOptions {
  const { image, frames, size } = values;
  const [width, height] = size?.split("x").map(Number) ?? [];
  return { image, width, height, numFrames: frames ? Number(frames) : undefined, steps: Number(values.steps), seed: 1 };
}

/** Wall time and processor time of a generation, and wall time of each of its steps, in ms. */
async function generateOnce(pipeline: StableVideoDiffusionPipeline, isProfiled: boolean) {
  const stepMs: number[] = [];
  const profiler = isProfiled ? createProfiler() : undefined;
  const before = process.cpuUsage();
  const startMs = performance.now();
  await pipeline.generate({
    ...options(),
    ...(profiler && { profiler }),
    onProgress: ({ stage, stepUs }) => void (stage === "denoise" && stepUs && stepMs.push(stepUs / 1e3)),
  });
  const wallMs = performance.now() - startMs;
  const { user, system } = process.cpuUsage(before);
  const count = (nodes: readonly ReportNode[]): number => nodes.reduce((sum, n) => sum + 1 + count(n.children), 0);
  if (profiler && count(profiler.report().scopes) < 100) throw new Error("the profile is empty");
  // The first step brings weights into caches and, without a profiler, may record a graph.
  return { wallMs, cpuMs: (user + system) / 1e3, stepMs: stepMs.slice(2) };
}

async function main(): Promise<void> {
  const load = { device: values.device as "cpu" | "cuda", dtype: values.dtype as Precision | undefined };
  const pipeline = await StableVideoDiffusionPipeline.fromPretrained(values.model, load);
  const empty = (): Record<"wall" | "cpu" | "step", number[]> => ({ wall: [], cpu: [], step: [] });
  const found = { off: empty(), on: empty() };
  await generateOnce(pipeline, true);
  for (let round = 0; round < Number(values.rounds); round++)
    // The order changes, so that a drift of the machine meets both.
    for (const which of round % 2 === 0 ? (["off", "on"] as const) : (["on", "off"] as const)) {
      const { wallMs, cpuMs, stepMs } = await generateOnce(pipeline, which === "on");
      found[which].wall.push(wallMs);
      found[which].cpu.push(cpuMs);
      found[which].step.push(...stepMs);
    }
  for (const what of ["wall", "cpu", "step"] as const) {
    const [off, on] = [found.off[what], found.on[what]];
    if (off.length === 0) continue;
    const [medians, least] = [median(on) / median(off), Math.min(...on) / Math.min(...off)];
    console.log(
      `${what}: off ${median(off).toFixed(2)} ms, on ${median(on).toFixed(2)} ms, ratio of medians ${medians.toFixed(4)}, of minima ${least.toFixed(4)} (${off.length} each)`,
    );
  }
  pipeline.dispose();
}

await main();
