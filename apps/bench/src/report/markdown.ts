import type { BenchFile, BenchRow } from "../measure/report";
import { formatMs } from "../measure/table";
import { numSamples, tooFewSamples } from "../stats/summary";
import { endsOf, headline, type OpRatio, opRatios } from "./op-ratios";

/** Groups of a plan that are listed. */
const TOP_GROUPS = 15;

const line = (cells: readonly string[]) => `| ${cells.map((cell) => cell.replaceAll("|", "\\|")).join(" | ")} |`;

/** A table in GitHub's Markdown; numbers to the right. */
export function markdownTable(
  head: readonly string[],
  rows: readonly (readonly string[])[],
  numTexts: number,
): string[] {
  const rule = head.map((_, i) => (i < numTexts ? "---" : "--:"));
  return [line(head), `|${rule.join("|")}|`, ...rows.map(line)];
}

const gibibytes = (bytes: number | undefined) => (bytes === undefined ? "" : (bytes / 2 ** 30).toFixed(2));

function ratio(row: BenchRow, rows: readonly BenchRow[]): string {
  const ours = rows
    .filter(({ suite, name, contender }) => suite === row.suite && name === row.name && contender.startsWith("ours"))
    .map(({ medianUs }) => medianUs)
    .filter((us) => us !== undefined);
  if (row.contender.startsWith("ours") || row.medianUs === undefined || ours.length === 0) return "";
  return `${(row.medianUs / Math.min(...ours)).toFixed(2)}×`;
}

/** Median and spread in ms; too few samples have no spread, but a mark; no figure has its reason. */
function timeText(row: BenchRow): string {
  const { medianUs, madUs = 0, reason } = row;
  if (medianUs === undefined) return `(${reason ?? "not measured"})`;
  const few = tooFewSamples(row);
  return few === undefined ? `${formatMs(medianUs)} ± ${formatMs(madUs)}` : `${formatMs(medianUs)} (${few})`;
}

/** The rows as a table. */
export function rowsMarkdown(rows: readonly BenchRow[]): string[] {
  const counted = rows.some(({ launches }) => launches !== undefined);
  const cells = rows.map((row) => {
    const { suite, name, contender, medianUs, flops, error, peakBytes, launches } = row;
    const rate = flops === undefined || medianUs === undefined ? "" : (flops / medianUs / 1e6).toPrecision(3);
    const what = suite === "ops" ? name : `${suite}, ${name}`;
    const figures = [
      what,
      contender,
      timeText(row),
      medianUs === undefined ? "" : String(numSamples(row)),
      ratio(row, rows),
      rate,
      error?.toExponential(1) ?? "",
      gibibytes(peakBytes),
    ];
    return counted ? [...figures, launches === undefined ? "" : String(launches)] : figures;
  });
  const head = ["case", "", "ms", "samples", "to ours", "TFLOP/s", "rel. L2", "GiB"];
  return markdownTable(counted ? [...head, "launches"] : head, cells, 2);
}

function groupsMarkdown(file: BenchFile): string[] {
  return Object.entries(file.tables)
    .filter(([, groups]) => groups.length > 0)
    .flatMap(([suite, groups]) => {
      const total = groups.reduce((sum, { totalUs }) => sum + totalUs, 0);
      const rows = groups
        .slice(0, TOP_GROUPS)
        .map(({ op, shape, count, totalUs, tflopPerS, gbPerS }) => [
          ...[op, `\`${shape}\``, String(count), formatMs(totalUs), `${((100 * totalUs) / total).toFixed(1)} %`],
          ...[tflopPerS.toPrecision(3), gbPerS.toPrecision(3)],
        ]);
      const head = ["op", "shape", "calls", "ms", "share", "TFLOP/s", "GB/s"];
      return ["", `## Where the time of ${suite} goes`, "", ...markdownTable(head, rows, 2)];
    });
}

/** Cuts hashes in a text to eight digits; results have them whole. */
export const withShortHashes = (text: string): string => text.replaceAll(/\b([0-9a-f]{8})[0-9a-f]{12,}\b/g, "$1");

/** Peers whose versions a short line names. */
const MAIN_PEERS = ["torch", "diffusers"];

/** What the machine is, in one line. short: without the system and the versions of all but the main peers. */
export function machineText({ machine, versions, createdAt }: BenchFile, { short = false } = {}): string {
  const { device, capability, driver, cores, os, node, commit } = machine;
  const peers = Object.entries(versions)
    .filter(([name, version]) => version !== null && version !== undefined && (!short || MAIN_PEERS.includes(name)))
    .map(([name, version]) => `${name} ${version}`);
  const parts = [
    `${device} (${capability}${driver ? `, driver ${driver}` : ""})`,
    `${cores} cores`,
    ...(short ? [] : [os, `Node.js ${node}`]),
    ...peers,
    `commit ${withShortHashes(commit)}`,
    createdAt.slice(0, 10),
  ];
  return parts.join(", ");
}

/** Shapes that the projects measured which this one grew out of, and the step that they fuse. */
const isOrigin = ({ suite, name }: BenchRow) =>
  suite === "ops" && (name.includes(".origin.") || name.startsWith("sampler_step."));

function originMarkdown(rows: readonly BenchRow[]): string[] {
  const origin = rows.filter(isOrigin);
  if (origin.length === 0) return [];
  const text =
    "Per call: `ours` launches row by row and `pytorch` calls one after the other; `-graph`: the same captured and replayed. `launches`: kernels, copies and fills of one call.";
  return ["", "## The origin projects' benchmarks", "", text, "", ...rowsMarkdown(origin)];
}

/** Ops where we are the furthest ahead and the furthest behind, two short tables before the wall. */
function endsMarkdown(rows: readonly BenchRow[]): string[] {
  const ratios = opRatios(rows);
  if (ratios.length === 0) return [];
  const { best, worst } = endsOf(ratios);
  const table = (title: string, part: readonly OpRatio[]) => [
    ...["", `## ${title}`, ""],
    ...markdownTable(
      ["op", "to ours"],
      part.map(({ label, ratio }) => [label, `${ratio.toFixed(2)}×`]),
      1,
    ),
  ];
  return [
    ...table(`The ${best.length} best ops beside PyTorch`, best),
    ...table(`The ${worst.length} worst ops beside PyTorch`, worst),
  ];
}

/** Results as a Markdown page. commands: those that made the results. charts: file of the page with charts, beside it. history:
 *  lines about earlier measurements. */
export function reportMarkdown(
  file: BenchFile,
  commands: readonly string[],
  charts: string,
  history: readonly string[] = [],
): string {
  const first = headline(file.rows);
  const [ops, stages] = [true, false].map((isOp) =>
    file.rows.filter((row) => !isOrigin(row) && (row.suite === "ops") === isOp),
  );
  const lines = [
    `# ${file.machine.device}`,
    ...(first === undefined ? [] : ["", `**${first}.**`]),
    "",
    `[Charts](${charts}). ${machineText(file)}.`,
    "",
    "Medians with their median absolute deviation; a median of fewer than three samples has a mark instead. Contenders take",
    "turns in one run. `to ours`: how many times longer than ours a peer takes. `rel. L2`: distance to the float32",
    "reference, for ops to our result.",
    ...(stages!.length > 0 ? ["", ...rowsMarkdown(stages!)] : []),
    ...endsMarkdown(file.rows),
    ...(ops!.length > 0 ? ["", "## All ops", "", ...rowsMarkdown(ops!)] : []),
    ...originMarkdown(file.rows),
    ...groupsMarkdown(file),
    ...history,
    "",
    "## How to repeat",
    "",
    "```sh",
    ...commands,
    "```",
    ...file.notes.flatMap((note) => ["", withShortHashes(note)]),
  ];
  return `${lines.join("\n")}\n`;
}
