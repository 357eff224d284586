// Times tiny-svd on the CPU for numbers of threads and ways to multiply, turn by turn, and says how far the frames are from the exact
// ones: `npx tsx tooling/measure/cpu/sweep.ts [--threads 1,2] [--math exact,fast,bf16] [--rounds 3] [--steps 5] [--model DIR]
// [--out FILE.json]`, and `sweep` of the folder that `pnpm pack:gpu` makes.
import { writeFileSync } from "node:fs";
import { availableParallelism, cpus } from "node:os";
import { fileURLToPath } from "node:url";
import { parseArgs } from "node:util";
import { distanceOf, generateForQuality, type QualityRun } from "@vd/bench";
import { type CpuMath, openDevice } from "@vd/kernels-native";
import { StableVideoDiffusionPipeline } from "@vd/svd-pipeline";

const { values } = parseArgs({
  options: {
    threads: { type: "string", default: "1,2" },
    math: { type: "string", default: "exact,fast,bf16" },
    rounds: { type: "string", default: "3" },
    steps: { type: "string", default: "5" },
    model: { type: "string", default: fileURLToPath(new URL("../../../models/tiny-svd", import.meta.url)) },
    out: { type: "string" },
  },
});
const steps = Number(values.steps);
const { model } = values;
const [width, height] = [128, 128];
const image = { width, height, data: Uint8Array.from({ length: width * height * 3 }, (_, i) => (i * 7919) % 251) };

interface Contender {
  math: string;
  threads: number;
  isa: string;
  pipeline: StableVideoDiffusionPipeline;
  /** In ms, one for each round. */
  callMs: number[];
  decodeMs: number[];
  run?: QualityRun;
}

/** One for each way and number of threads; ways that this processor does not gain by are left out, with its warning. */
async function open(): Promise<Contender[]> {
  const found: Contender[] = [];
  for (const math of values.math.split(",") as CpuMath[])
    for (const threads of values.threads.split(",").map(Number)) {
      const device = openDevice("cpu", { threads: 1, math });
      if (device.math !== math) break; // It has said so by itself.
      const pipeline = await StableVideoDiffusionPipeline.fromPretrained(model, { threads, cpuMath: math });
      found.push({ math, threads, isa: device.isa!, pipeline, callMs: [], decodeMs: [] });
    }
  return found;
}

const median = (numbers: readonly number[]) => [...numbers].sort((a, b) => a - b)[Math.floor(numbers.length / 2)]!;
const summary = (numbers: readonly number[]) => ({ bestMs: Math.min(...numbers), medianMs: median(numbers) });

const contenders = await open();
// The first round is not timed.
for (let round = 0; round <= Number(values.rounds); round++)
  for (const contender of contenders) {
    const run = await generateForQuality(contender.pipeline, { image, width, height, steps, seed: 1 });
    contender.run = run;
    if (round === 0) continue;
    contender.callMs.push(run.denoiseUs / 1000 / steps);
    contender.decodeMs.push(run.video.timings.decode! / 1000);
  }
const exact = contenders.find(({ math }) => math === "exact")?.run;
const rows = contenders.map(({ math, threads, isa, callMs, decodeMs, run }) => ({
  ...{ math, threads, isa, call: summary(callMs), decode: summary(decodeMs) },
  ...(exact && run ? { fromExact: distanceOf(run, exact) } : {}),
}));
console.log(
  "| math | threads | UNet call, best (median) | decode, best (median) | PSNR to exact |\n|---|---|---|---|---|",
);
for (const { math, threads, call, decode, fromExact } of rows) {
  const text = ({ bestMs, medianMs }: typeof call) => `${bestMs.toFixed(1)} ms (${medianMs.toFixed(1)})`;
  console.log(`| ${math} | ${threads} | ${text(call)} | ${text(decode)} | ${fromExact?.psnr.toFixed(1) ?? "–"} dB |`);
}
const about = {
  date: new Date().toISOString(),
  cpu: cpus()[0]?.model,
  cores: availableParallelism(),
  steps,
  model: "tiny-svd",
};
if (values.out) writeFileSync(values.out, `${JSON.stringify({ ...about, rows }, null, 2)}\n`);
for (const { pipeline } of contenders) pipeline.dispose();
