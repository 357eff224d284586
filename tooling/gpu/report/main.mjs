// Writes reports/gpu/README.md from the JSON files beside it: the whole model beside diffusers, each op against its target,
// sizes and memory, ops beside PyTorch, what profiling costs, and the conformance suite; a file that is not there leaves
// its section out. `node tooling/gpu/report/main.mjs [FOLDER]`; run it after copying results there.
import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import {
  kernelsSection,
  opsSection,
  overheadSection,
  sanitizerSection,
  spreadCells,
  table,
  withShortHashes,
} from "./sections.mjs";

const here = dirname(fileURLToPath(import.meta.url));
const folder = process.argv[2] ?? join(here, "../../../reports/gpu");
function read(name) {
  const path = join(folder, name);
  if (!existsSync(path)) return undefined;
  try {
    return JSON.parse(readFileSync(path, "utf8"));
  } catch (error) {
    throw new Error(`${path} is no JSON (${error.message}): copy it here once more`);
  }
}

const milliseconds = (us) => (us >= 100_000 ? (us / 1000).toFixed(0) : (us / 1000).toFixed(us >= 10_000 ? 1 : 2));
const gibibytes = (bytes) => (bytes === undefined || bytes === null ? "" : (bytes / 2 ** 30).toFixed(1));

/** The whole model's parts, each contender beside the best of ours. */
function partsTable({ rows }) {
  const key = ({ suite, name }) => `${suite} ${name}`;
  return table(
    ["part", "contender", "ms", "±", "samples", "of ours", "error to float32", "GiB", "first run, s"],
    rows.map((row) => {
      const ours = Math.min(
        ...rows.filter((r) => key(r) === key(row) && r.contender.startsWith("ours")).map((r) => r.medianUs ?? Infinity),
      );
      if (row.medianUs === undefined) return [key(row), row.contender, row.reason ?? "", "", "", "", "", "", ""];
      const ratio = row.contender.startsWith("ours") ? "" : `${(row.medianUs / ours).toFixed(2)}x`;
      const error = row.error === undefined ? "" : row.error.toExponential(2);
      const first = row.firstUs === undefined ? "" : (row.firstUs / 1e6).toFixed(1);
      return [
        key(row),
        row.contender,
        milliseconds(row.medianUs),
        ...spreadCells(row, milliseconds),
        ratio,
        error,
        gibibytes(row.peakBytes),
        first,
      ];
    }),
  );
}

/** Each op's mean time inside the model against its target. */
function opsTable(tables, { ops }) {
  const rows = ops.map(({ suite, label, op, shape, variant = "", targetUs, peerUs }) => {
    const groups = (tables[suite] ?? []).filter(
      (g) => g.op === op && g.shape.startsWith(shape) && g.variant.startsWith(variant),
    );
    const count = groups.reduce((sum, g) => sum + g.count, 0);
    if (count === 0) return [suite, label, "", "", "", targetUs, peerUs, ""];
    const us = groups.reduce((sum, g) => sum + g.totalUs, 0) / count;
    const rate = groups.reduce((sum, g) => sum + g.gflop, 0) / count / us / 1e-3;
    const variants = [...new Set(groups.map((g) => g.variant.replace("sm90_", "")))].join(", ");
    return [
      suite,
      label,
      us.toFixed(0),
      rate.toFixed(0),
      variants,
      targetUs,
      peerUs,
      us <= targetUs ? "met" : `${(us / targetUs).toFixed(2)}x`,
    ];
  });
  return table(["part", "op", "µs", "TFLOP/s", "kernel", "target µs", "PyTorch µs", "against target"], rows);
}

function sizesTable({ sizes }) {
  return table(
    [
      "generation, 2 steps",
      "total ms",
      "samples",
      "step ms",
      "decode ms",
      "GiB used",
      "longest turn of the event loop, ms",
      "same frames as",
    ],
    sizes.map((s) => [
      s.name,
      s.totalMs?.toFixed(0) ?? s.error,
      s.totalMs === undefined ? "" : (s.samplesMs?.length ?? 1),
      s.stepsMs?.at(-1)?.toFixed(0) ?? "",
      s.timings ? (s.timings.decode / 1000).toFixed(0) : "",
      gibibytes(s.usedBytes),
      s.eventLoopWorstMs?.toFixed(1) ?? "",
      s.sameAs ? `${s.sameAs}: ${s.same ? "yes" : "NO"}` : "",
    ]),
  );
}

/** One line for each program of `run all`. */
function conformanceTable({ kernelHash, results }) {
  const rows = Object.entries(results).map(([name, result]) => {
    if (name.startsWith("suite-"))
      return [
        `every case of every op, ${result.image}`,
        `${result.passed} passed, ${result.failed} failed`,
        result.notRun ? `not run: ${result.notRun.join(", ")}` : `${result.variants ?? 0} runs of other variants`,
      ];
    if (name.startsWith("goldens-")) {
      const counts = grouped(result.results);
      const text = Object.entries(counts)
        .map(([status, list]) => `${list.length} ${status}`)
        .join(", ");
      const failed = result.results
        .filter(({ status }) => status !== "pass")
        .map(({ label, reason = "" }) => `${label}: ${reason.split("\n")[0].replace(/^Error: |: $/g, "")}`);
      return [`goldens, ${result.dtype}`, text, failed.join(", ")];
    }
    const { weights, leaks } = result.measure ?? result;
    const load = `${(weights.bytes / 1e9).toFixed(2)} GB of weights in ${weights.loadMs.toFixed(0)} ms`;
    const leak = `${leaks.numRuns} generations: ${leaks.numDifferent} differ, ${leaks.usedAtEnd - leaks.usedAfterTenth} bytes more in use at the end than after ten`;
    const earlier = result.kernelHash === undefined || result.kernelHash === kernelHash ? "" : " (earlier kernels)";
    return [`loading and leaks${earlier}`, load, leak];
  });
  return `Kernel sources ${kernelHash.slice(0, 8)}.\n\n${table(["what", "result", ""], rows)}`;
}

/** By status. */
function grouped(list) {
  const groups = {};
  for (const each of list) {
    groups[each.status] ??= [];
    groups[each.status].push(each);
  }
  return groups;
}

const measured = read("model-h200.json");
const generation = read("generation-h200.json");
const sizes = read("sizes-h200.json");
const suite = read("nvidia-h200.json");
const targets = JSON.parse(readFileSync(join(here, "targets.json"), "utf8"));
const parts = ["# SVD-XT on one H200\n"];
if (measured) {
  const { machine, versions } = measured;
  parts.push(
    `${machine.device}, driver for CUDA ${machine.driver}, ${machine.os}, Node ${machine.node}; PyTorch ${versions.torch}, cuDNN ${versions.cudnn}, diffusers ${versions.diffusers}. Commit ${withShortHashes(machine.commit)}. 25 frames of 1024x576, guidance, float16, random weights of \`make-model svd-xt --seed 1\`; ours and the peer in turns in one run.\n`,
    "```sh\npnpm pack:gpu -o DIR   # then, on the GPU machine, with diffusers on PYTHONPATH:\nDIR/run bench make-model svd-xt -o MODEL --seed 1\nDIR/run bench measure -m MODEL -o model.json --peers eager,compile\nDIR/run sizes --model MODEL --json sizes.json\nDIR/run all\nnode tooling/gpu/report/main.mjs\n```\n",
    "## Parts\n",
    `${partsTable(measured)}\n`,
    ...measured.notes.map((note) => `${withShortHashes(note)}\n`),
    "## Ops inside the model\n",
    "Means over all rows of a shape with whatever their epilogues do. The PyTorch column is its best backend for the bare op, measured alone on such a machine.\n",
    `${opsTable({ ...measured.tables, ...generation?.tables }, targets)}\n`,
  );
}
if (generation) {
  parts.push(
    "## The denoiser and whole generations\n",
    `Commit ${withShortHashes(generation.machine.commit)}.\n`,
    `${partsTable(generation)}\n`,
    ...generation.notes.map((note) => `${withShortHashes(note)}\n`),
  );
}
if (sizes) parts.push("## Sizes and memory\n", `${sizesTable(sizes)}\n`);
for (const [name, section] of Object.entries({
  "ops-h200.json": opsSection,
  "overhead.json": overheadSection,
  "kernels.json": kernelsSection,
  "sanitizer.json": sanitizerSection,
})) {
  const found = read(name);
  if (found) parts.push(section(found));
}
if (suite) parts.push("## Conformance\n", `${conformanceTable(suite)}\n`);
writeFileSync(join(folder, "README.md"), parts.join("\n"));
console.log(join(folder, "README.md"));
