/** Plays a live model for hours and tells what the process holds as it goes; fails if it holds more and more.
 *
 *  TSX_TSCONFIG_PATH=tsconfig.json npx -y pnpm@10.34.9 exec tsx tooling/measure/live/endurance.ts [--hours N | --frames N] [--model DIR]
 *    [--picture FILE] [--device cpu|cuda] [--threads N] [--steps N] [--tell N] */
import { parseArgs } from "node:util";
import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";
import { createLiveSession, randomPlay } from "@vd/live";

const { values } = parseArgs({
  options: {
    hours: { type: "string", default: "10" },
    frames: { type: "string" },
    model: { type: "string" },
    picture: { type: "string" },
    device: { type: "string", default: "cpu" },
    threads: { type: "string", default: "2" },
    steps: { type: "string" },
    tell: { type: "string", default: "10" },
  },
});

/** What V8's own tables may take in thousands of garbage collections. */
const SLACK = 2 ** 18;
const MIB = 2 ** 20;

setFlagsFromString("--expose-gc");
const collect = runInNewContext("gc") as () => void;
const held = () => {
  collect();
  collect();
  const { heapUsed, arrayBuffers, rss } = process.memoryUsage();
  return { heapUsed, arrayBuffers, rss };
};

const { model, picture, device, threads, steps } = values;
const session = await createLiveSession({
  ...{ model, picture, device: device as "cpu" | "cuda", threads: Number(threads), pace: "reader" },
  ...(steps !== undefined && { steps: Number(steps) }),
});
const frames = values.frames === undefined ? Number(values.hours) * 3600 * session.fps : Number(values.frames);
const every = Math.ceil(frames / Number(values.tell));
const actions = randomPlay(session.model.actions.length, 1);

console.log("| frame | heap, MiB | buffers, MiB | resident, MiB |");
console.log("| --- | --- | --- | --- |");
let first: ReturnType<typeof held> | undefined;
let last = held();
for await (const { index } of session) {
  session.act(actions.next().value);
  if ((index + 1) % every !== 0) continue;
  last = held();
  first ??= last;
  const cells = [last.heapUsed, last.arrayBuffers, last.rss].map((bytes) => (bytes / MIB).toFixed(2));
  console.log(`| ${[index + 1, ...cells].join(" | ")} |`);
  if (index + 1 >= frames) break;
}
await session.close();
const growth = { heap: last.heapUsed - first!.heapUsed, buffers: last.arrayBuffers - first!.arrayBuffers };
console.log(`From the first row to the last: heap ${growth.heap} bytes, buffers ${growth.buffers} bytes.`);
// Clips of several sizes are held at any time: buffers may differ by two of them.
const clips = picture === undefined ? 0 : 4 * 25 * session.width * session.height * 3;
if (growth.heap > SLACK || growth.buffers > clips) {
  console.error("It grows.");
  process.exitCode = 1;
}
