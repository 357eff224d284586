/** What becomes of the colours of clips that follow each other without an end: mean colour and contrast in stretches of the video, as a table.
 *
 *  TSX_TSCONFIG_PATH=tsconfig.json npx -y pnpm@10.34.9 exec tsx tooling/measure/live/clips.ts [--model DIR] [--picture FILE]
 *    [--device cpu|cuda] [--threads N] [--frames N] [--every N] [--stretches N] [--steps N] [--seed N] [--hold X,…] */
import { parseArgs } from "node:util";
import { type DriftMeasure, drift } from "@vd/live";

const { values } = parseArgs({
  options: {
    model: { type: "string", default: "models/tiny-svd" },
    picture: { type: "string", default: "models/tiny-svd/samples/one-ball.png" },
    device: { type: "string", default: "cpu" },
    threads: { type: "string", default: "2" },
    frames: { type: "string", default: "504" },
    every: { type: "string", default: "4" },
    stretches: { type: "string", default: "4" },
    steps: { type: "string", default: "6" },
    seed: { type: "string", default: "5" },
    hold: { type: "string", default: "1,0" },
  },
});

const [frames, stretches] = [Number(values.frames), Number(values.stretches)];
const mean = (numbers: readonly number[]) => numbers.reduce((sum, number) => sum + number, 0) / numbers.length;
const signed = (value: number) => `${value < 0 ? "−" : "+"}${Math.abs(value).toFixed(1)}`;

/** Mean colour of a stretch against the first frame's, in levels of 255, and its contrast. */
function cell(first: DriftMeasure, stretch: readonly DriftMeasure[]): string {
  const colour = [0, 1, 2].map((c) => 127.5 * (mean(stretch.map((measure) => measure.mean[c]!)) - first.mean[c]!));
  return `${colour.map(signed).join(" ")}, ${mean(stretch.map(({ contrast }) => contrast)).toFixed(3)}`;
}

const length = frames / stretches;
const heads = Array.from({ length: stretches }, (_, i) => `frames ${i * length} to ${(i + 1) * length - 1}`);
console.log(`| holdColours | contrast of frame 0 | ${heads.join(" | ")} | collapsed |`);
console.log(`| --- | --- | ${heads.map(() => "---").join(" | ")} | --- |`);
for (const hold of values.hold.split(",")) {
  const { measures, collapsed } = await drift({
    ...{ model: values.model, picture: values.picture, device: values.device as "cpu" | "cuda" },
    ...{ threads: Number(values.threads), frames, everyFrames: Number(values.every) },
    ...{ steps: Number(values.steps), seed: Number(values.seed), clips: { holdColours: Number(hold) } },
  });
  const first = measures[0]!;
  const cells = heads.map((_, i) =>
    cell(
      first,
      measures.filter(({ frame }) => Math.floor(frame / length) === i),
    ),
  );
  console.log(`| ${[hold, first.contrast.toFixed(3), ...cells, collapsed ? "yes" : "no"].join(" | ")} |`);
}
