/** What becomes of long games of a live model: contrast, detail and entropy of colours at the start and the end of each, as a table.
 *
 *  TSX_TSCONFIG_PATH=tsconfig.json npx -y pnpm@10.34.9 exec tsx tooling/measure/live/drift.ts [--model DIR] [--device cpu|cuda]
 *    [--threads N] [--frames N] [--seed N] [--starts NAME,…] [--games STEPS[:ANCHOR[:RENOISE[:RECOVER]]],…]; what a game leaves out is as the session has it. */
import { parseArgs } from "node:util";
import { type DriftSummary, drift } from "@vd/live";

const { values } = parseArgs({
  options: {
    model: { type: "string" },
    device: { type: "string", default: "cpu" },
    threads: { type: "string", default: "2" },
    frames: { type: "string", default: "2000" },
    seed: { type: "string", default: "1" },
    starts: { type: "string", default: "meadow-morning,savanna-sunset,snow-sunset,meadow-night,rust-afternoon" },
    games: { type: "string", default: "1,1:0:0:0,2,2:0:0:0" },
  },
});

const { model, device, threads, frames, seed } = values;
const common = {
  ...{ model, device: device as "cpu" | "cuda", threads: Number(threads) },
  ...{ frames: Number(frames), seed: Number(seed) },
};

const pair = (first: DriftSummary, last: DriftSummary, name: "contrast" | "detail" | "saturation" | "colourEntropy") =>
  `${first[name].toFixed(3)} / ${last[name].toFixed(3)}`;

console.log(
  "| start | steps | anchor | renoise | recover | contrast | detail | saturation | colour entropy, bits | collapsed |",
);
console.log("| --- | --- | --- | --- | --- | --- | --- | --- | --- | --- |");
for (const start of values.starts.split(","))
  for (const game of values.games.split(",")) {
    const [steps = 1, anchor, renoise, recover] = game.split(":").map(Number);
    const { atStart, atEnd, collapsed, guard } = await drift({
      ...{ ...common, start, steps },
      guard: { anchor, renoise, recover },
    });
    const pairs = (["contrast", "detail", "saturation", "colourEntropy"] as const).map((name) =>
      pair(atStart, atEnd, name),
    );
    console.log(
      `| ${[start, steps, guard.anchor, guard.renoise, guard.recover, ...pairs, collapsed ? "yes" : "no"].join(" | ")} |`,
    );
  }
