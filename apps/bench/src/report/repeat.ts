import { PARTS } from "../measure/options";
import type { BenchFile } from "../measure/report";
import { LEAST_SAMPLES } from "../stats/summary";

/** What the options are if nobody says otherwise; those need not be typed again. */
const DEFAULTS: Readonly<Record<string, unknown>> = { rounds: 5, repeats: 3, e2eRounds: 3 };
const FLAGS: Readonly<Record<string, string>> = {
  ...{ rounds: "--rounds", repeats: "--repeats", e2eRounds: "--e2e-rounds", limitS: "--limit" },
};
/** How a fresh clone of the repository runs vd-bench, with the pnpm that it pins. */
export const RUN_BENCH = "npx -y pnpm@10.34.9 bench";
const BUNDLED_MODEL = "tiny-svd";

const listed = (value: unknown) => (Array.isArray(value) ? value.join(",") || "none" : undefined);

/** Whether there are whole runs of more than one length. */
const hasSeveralRuns = (rows: BenchFile["rows"]): boolean =>
  new Set(rows.filter(({ suite }) => suite === "e2e").map(({ name }) => name)).size > 1;

/** Frames, size and steps; left out for a command that ran several of them by itself. */
function sizes({ command, options, rows }: BenchFile): string[] {
  const { numFrames, width, height, steps } = options;
  if (width === undefined) return [];
  if (command === "e2e" && hasSeveralRuns(rows)) return [];
  const isRun = command === "e2e" || command === "measure";
  return [`--frames ${numFrames} --size ${width}x${height}`, ...(isRun ? [`--steps ${steps}`] : [])];
}

/** Returns the commands that make such results: `measure` runs one length only, `e2e` its two. */
export function repeatTexts(file: BenchFile): string[] {
  if (file.command !== "measure" || !hasSeveralRuns(file.rows)) return [repeatText(file)];
  const { rounds, repeats, ...options } = file.options;
  return [repeatText(file), repeatText({ ...file, command: "e2e", options })];
}

/** The command that makes such results, with at least three whole runs. */
export function repeatText(file: BenchFile): string {
  const { command, options, machine } = file;
  const { model, pattern } = options;
  const counts = Object.entries(FLAGS)
    .filter(([name]) => options[name] !== undefined && options[name] !== null && options[name] !== DEFAULTS[name])
    // Only whole runs have turns of their own.
    .filter(([name]) => name !== "e2eRounds" || file.rows.some(({ suite }) => suite === "e2e"))
    // A repetition has samples enough, also where the results told of have not.
    .filter(([name]) => name !== "e2eRounds" || Number(options[name]) >= LEAST_SAMPLES)
    .map(([name, flag]) => `${flag} ${options[name]}`);
  const parts = listed(options.parts);
  const peers = listed(options.peers);
  const words = [
    `${RUN_BENCH} ${command}`,
    ...(typeof pattern === "string" ? [pattern] : []),
    `--device ${machine.kind}`,
    ...(typeof model === "string" && model !== BUNDLED_MODEL ? [`-m ${model}`] : []),
    ...sizes(file),
    ...(command === "measure" && parts !== undefined && parts !== PARTS.join(",") ? [`--parts ${parts}`] : []),
    ...(peers === undefined || command === "memory" ? [] : [`--peers ${peers}`]),
    ...counts,
    command === "measure" ? "-o measure.json" : `--json ${command}.json`,
  ];
  return words.join(" ");
}
