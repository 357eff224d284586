// Sections of reports/gpu/README.md that come from one file each: what profiling costs, what CUPTI counts, ops beside
// PyTorch, the memory checker.

const ms = (us) => {
  const value = us / 1000;
  return value >= 100 ? value.toFixed(0) : value >= 10 ? value.toFixed(1) : value.toFixed(value >= 1 ? 2 : 4);
};

/** A table in GitHub's Markdown. */
export const table = (head, rows) =>
  [head, head.map(() => "---"), ...rows].map((cells) => `| ${cells.join(" | ")} |`).join("\n");

/** Cuts hashes in a text to eight digits; the JSON files have them whole. */
export const withShortHashes = (text) => text.replaceAll(/\b([0-9a-f]{8})[0-9a-f]{4,}\b/g, "$1");

/** Samples below which a median has a mark instead of a spread. */
const LEAST_SAMPLES = 3;

/** The spread of a row's time as `format` writes it, and its number of samples. A median without its samples is one. */
export function spreadCells({ madUs = 0, samplesUs }, format) {
  const count = samplesUs?.length ?? 1;
  if (count >= LEAST_SAMPLES) return [format(madUs), count];
  return [`(${count} sample${count === 1 ? "" : "s"})`, count];
}

const ranText = ({ numReplayed, numLaunched, numTimed, numRows, numLaunches }) =>
  `${numReplayed > 0 ? `${numReplayed} replays of a graph` : ""}${numReplayed > 0 && numLaunched > 0 ? ", " : ""}${numLaunched > 0 ? `${numLaunched} runs row by row` : ""}, ${numTimed} with every row timed; ${numRows} rows, ${numLaunches} launches`;

/** overhead.json, from `run overhead --json`: a generation with and without a profiler. */
export function overheadSection({ options, summary, ran }) {
  const { numFrames, width, height, steps, rounds } = options;
  const names = { step: "a step of the denoiser", wall: "a whole generation", cpu: "its processor time" };
  const rows = Object.entries(names).map(([what, name]) => {
    const { offMs, onMs, ratio, lowerQuartile, upperQuartile, numPairs } = summary[what];
    const spread = `${lowerQuartile.toFixed(4)} to ${upperQuartile.toFixed(4)}`;
    return [name, offMs.toFixed(2), onMs.toFixed(2), ratio.toFixed(4), spread, numPairs];
  });
  return `## What profiling costs

${numFrames} frames of ${width}x${height}, ${steps} steps, ${rounds} rounds in turns; the ratio is the median over pairs of neighbours. \`DIR/run overhead --model MODEL --json overhead.json\`.

${table(["what", "off, ms", "on, ms", "on over off", "half of the pairs", "pairs"], rows)}

The denoiser without a profiler: ${ranText(ran.off)}. With one: ${ranText(ran.on)}.
`;
}

/** kernels.json, from `run kernels --json`: what CUPTI saw beside what plans say. */
export function kernelsSection({ cupti, nvtx, numRanges, plain, profiled }) {
  const line = (what, { numRuns, planned, seen, numDifferent }) => [what, numRuns, planned, seen, numDifferent];
  const rows = [
    line("without a profiler, graphs", plain.graph),
    line("without a profiler, rows", plain.rows),
    line("with a profiler, graphs", profiled.graph),
    line("with a profiler, rows", profiled.rows),
  ].filter(([, numRuns]) => numRuns > 0);
  return `## Kernels that CUPTI sees

A generation of the bundled model, every run counted on both sides. \`DIR/run kernels --json kernels.json\`. ${cupti ? `CUPTI: ${cupti}` : "CUPTI records."} ${nvtx ? `NVTX: ${nvtx}` : `As the tool of NVTX it heard ${numRanges} ranges of scopes and rows.`}

${table(["runs", "count", "launches planned", "kernels seen", "runs that differ"], rows)}
`;
}

/** Rows of the origin projects' own benchmarks: their shapes, and the step that fuses a sequence. */
const isOrigin = ({ name }) => name.includes(".origin.") || name.startsWith("sampler_step.");

function opRows(rows) {
  return rows.map((row) => {
    if (row.medianUs === undefined) return [row.name, row.contender, row.reason ?? "", "", "", "", "", ""];
    const ours = rows.filter((r) => r.name === row.name && r.contender.startsWith("ours") && r.medianUs !== undefined);
    const isPeer = !row.contender.startsWith("ours") && ours.length > 0;
    const ratio = isPeer ? `${(row.medianUs / Math.min(...ours.map((r) => r.medianUs))).toFixed(2)}x` : "";
    const error = row.error === undefined ? "" : row.error.toExponential(2);
    return [row.name, row.contender, ms(row.medianUs), ...spreadCells(row, ms), ratio, row.launches ?? "", error];
  });
}

/** ops-h200.json, from `run bench ops --json`: ops alone beside PyTorch's. */
export function opsSection({ rows, versions, options, notes = [] }) {
  const head = ["shape", "contender", "ms", "±", "samples", "of ours", "launches", "error to ours"];
  const shown = rows.filter(({ suite }) => suite === "ops");
  const others = shown.filter((row) => !isOrigin(row) && row.medianUs !== undefined);
  return `## Ops beside PyTorch

Per call, over operands that no cache holds; \`-graph\`: captured and replayed; ${options.rounds} rounds in turns with PyTorch ${versions.torch ?? "(none)"}. Launches are counted: ours in the plan, PyTorch's by its profiler. \`DIR/run bench ops --device cuda --json ops-h200.json\`.${notes.map((note) => `\n\n${note}`).join("")}

### The origin projects' benchmarks

${table(head, opRows(shown.filter(isOrigin)))}

### Shapes of the models

${table(head, opRows(others))}
`;
}

/** sanitizer.json: `{tool, cases, mostElements, errors, seconds, kernelHash}[]`, runs of NVIDIA's compute-sanitizer. */
export function sanitizerSection(runs) {
  const rows = runs.map(({ tool, cases, mostElements, errors, seconds, kernelHash }) => [
    ...[tool, cases, mostElements ?? "", errors, seconds.toFixed(0), kernelHash.slice(0, 8)],
  ]);
  return `## Memory checker

compute-sanitizer over the conformance suite, every kernel that could run a case, cases up to the named number of elements. \`DIR/run sanitize --json sanitizer.json\`.

${table(["tool", "cases", "largest operand", "errors", "seconds", "kernel sources"], rows)}
`;
}
