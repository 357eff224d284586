/** What a live session takes on this machine, as a table: frames a second, latency, processor time and memory, by steps and with each way of saving work.
 *
 *  TSX_TSCONFIG_PATH=tsconfig.json npx -y pnpm@10.34.9 exec tsx tooling/measure/live/main.ts [--model DIR] [--device cpu|cuda]
 *    [--threads N] [--frames N] [--json FILE]
 *
 *  Frames are made one after the other, as fast as they come. PSNR: of the same game with the same noise beside one without
 *  the saving, mean over its first 20 frames. */
import { writeFileSync } from "node:fs";
import { parseArgs } from "node:util";
import { createLiveSession, type LiveSessionOptions, randomPlay } from "@vd/live";

const { values } = parseArgs({
  options: {
    model: { type: "string" },
    device: { type: "string", default: "cpu" },
    threads: { type: "string", default: "2" },
    frames: { type: "string", default: "300" },
    json: { type: "string" },
  },
});

/** Frames that are compared, and frames that warm up before times count. */
const COMPARED = 20;
const WARM = 20;
const MIB = 2 ** 20;

type Case = readonly [name: string, options: LiveSessionOptions, beside?: LiveSessionOptions];

const CASES: readonly Case[] = [
  ["1 step", { steps: 1 }],
  ["2 steps", { steps: 2 }],
  ["3 steps", { steps: 3 }],
  ["5 steps", { steps: 5 }],
  ["1 step, drift every 10 frames", { steps: 1, drift: { everyFrames: 10 } }],
  ["1 step, guard off", { steps: 1, guard: false }, { steps: 1 }],
  ["1 step, guard", { steps: 1, guard: { renoise: 0.02, anchor: 0.02 } }],
  ["1 step, features of 2 frames", { steps: 1, cache: { maxAge: 2, maxChange: 0.04 } }, { steps: 1 }],
  ["1 step, features of 2 frames, whatever changes", { steps: 1, cache: { maxAge: 2, maxChange: 2 } }, { steps: 1 }],
  ["2 steps, features of 2 frames", { steps: 2, cache: { maxAge: 2, maxChange: 0.04 } }, { steps: 2 }],
  ["adaptive, at most 2 steps", { steps: 2, adaptive: true }, { steps: 2 }],
];

const common = { model: values.model, device: values.device as "cpu" | "cuda", threads: Number(values.threads) };

/** The first pictures of a game, and what the session measured of `count` frames after the first ones. */
async function play(options: LiveSessionOptions, count: number) {
  const session = await createLiveSession({ ...common, ...options, pace: "reader" });
  const actions = randomPlay(session.model.actions.length, 1);
  const iterator = session[Symbol.asyncIterator]();
  const pictures: Uint8Array[] = [];
  const times: number[] = [];
  let [begun, cpu, cached] = [0, process.cpuUsage(), 0];
  for (let i = 0; i < count; i++) {
    if (i === WARM) [begun, cpu] = [performance.now(), process.cpuUsage()];
    session.act(actions.next().value);
    const { value: frame } = await iterator.next();
    if (i < COMPARED) pictures.push(frame.data.slice());
    if (i >= WARM) times.push(frame.latencyMs);
    if (frame.cached) cached++;
  }
  const [wallMs, used] = [performance.now() - begun, process.cpuUsage(cpu)];
  const { parts } = session.stats();
  await session.close();
  return { pictures, times, wallMs, cpuMs: (used.user + used.system) / 1000, cached: cached / count, parts };
}

function psnr(a: readonly Uint8Array[], b: readonly Uint8Array[]): number {
  const each = a.map((picture, i) => {
    const error = picture.reduce((sum, level, at) => sum + (level - b[i]![at]!) ** 2, 0) / picture.length;
    return 10 * Math.log10(255 ** 2 / Math.max(error, 1e-3));
  });
  return each.reduce((sum, value) => sum + value, 0) / each.length;
}

async function measure([name, options, beside]: Case) {
  const { pictures, times, wallMs, cpuMs, cached, parts } = await play(options, WARM + Number(values.frames));
  const sorted = [...times].sort((a, b) => a - b);
  const at = (part: number) => sorted[Math.ceil(part * sorted.length) - 1]!;
  const quality = beside && psnr(pictures, (await play(beside, COMPARED)).pictures);
  return {
    ...{ name, fps: (1000 * times.length) / wallMs, p50: at(0.5), p95: at(0.95), p99: at(0.99) },
    ...{ cpuMs: cpuMs / times.length, cached, rssMib: process.memoryUsage().rss / MIB, psnr: quality, parts },
  };
}

const number = (value: number | undefined, digits = 1) => (value === undefined ? "" : value.toFixed(digits));
const rows = [];
console.log(
  "| session | frames a second | p50 ms | p95 ms | p99 ms | p99 / p50 | processor ms a frame | reused | PSNR dB | RSS MiB |",
);
console.log("| --- | --- | --- | --- | --- | --- | --- | --- | --- | --- |");
for (const each of CASES) {
  const row = await measure(each);
  rows.push(row);
  const { name, fps, p50, p95, p99, cpuMs, cached, rssMib } = row;
  const times = [fps, p50, p95, p99].map((value) => number(value));
  const further = [
    number(p99 / p50, 2),
    number(cpuMs),
    `${number(100 * cached, 0)} %`,
    number(row.psnr),
    number(rssMib, 0),
  ];
  console.log(`| ${[name, ...times, ...further].join(" | ")} |`);
}
if (values.json)
  writeFileSync(values.json, `${JSON.stringify({ ...common, frames: Number(values.frames), rows }, null, 2)}\n`);
