import type { BenchFile, BenchRow } from "../measure/report";
import { FLOAT64_LEGEND, float64Cells, float64Heads, formatMs } from "../measure/table";
import { numSamples, tooFewSamples } from "../stats/summary";
import { endsOf, headline, isTimed, type OpRatio, opRatios, type TimedRow } from "./op-ratios";

/** Groups of a plan that are listed. */
const TOP_GROUPS = 15;
/** Cases without a figure that are named, of those with one reason. */
const NAMED_CASES = 3;

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

/** Median and spread in ms; too few samples have no spread, but a mark. */
function timeText(row: TimedRow): string {
  const few = tooFewSamples(row);
  return few === undefined
    ? `${formatMs(row.medianUs)} ± ${formatMs(row.madUs)}`
    : `${formatMs(row.medianUs)} (${few})`;
}

const caseText = ({ suite, name }: BenchRow) => (suite === "ops" ? name : `${suite}, ${name}`);

/** Cases in words: all of a few, the first of many. */
function casesText(rows: readonly BenchRow[]): string {
  const cases = [...new Set(rows.map(caseText))];
  const shown =
    cases.length > NAMED_CASES ? [...cases.slice(0, NAMED_CASES), `${cases.length - NAMED_CASES} more`] : cases;
  return shown.join("; ");
}

/** What has no figure and why, a line for each reason: in the table a sentence would push the figures out of sight. */
function unmeasuredMarkdown(rows: readonly BenchRow[]): string[] {
  const byReason = new Map<string, BenchRow[]>();
  for (const row of rows) {
    // Python's word for what was left out on purpose.
    const reason = (row.reason ?? "not measured").replace(/^NotImplementedError: /, "");
    byReason.set(reason, [...(byReason.get(reason) ?? []), row]);
  }
  if (byReason.size === 0) return [];
  const lines = [...byReason].map(([reason, part]) => {
    const contenders = [...new Set(part.map(({ contender }) => contender))].join(", ");
    return `- ${contenders}: ${reason.replaceAll("<", "&lt;")} (${casesText(part)})`;
  });
  return ["", "Without a figure:", "", ...lines];
}

/** The rows as a table, and below it which have no figure and why. */
export function rowsMarkdown(rows: readonly BenchRow[]): string[] {
  const timed = rows.filter(isTimed);
  const float64 = float64Heads(timed);
  const counted = timed.some(({ launches }) => launches !== undefined);
  const cells = timed.map((row) => {
    const { contender, medianUs, flops, error, peakBytes, launches } = row;
    const figures = [
      ...[caseText(row), contender, timeText(row), String(numSamples(row)), ratio(row, rows)],
      flops === undefined ? "" : (flops / medianUs / 1e6).toPrecision(3),
      ...[error?.toExponential(1) ?? "", ...float64Cells(row, float64), gibibytes(peakBytes)],
    ];
    return counted ? [...figures, launches === undefined ? "" : String(launches)] : figures;
  });
  const head = ["case", "contender", "ms", "samples", "to ours", "TFLOP/s", "rel. L2", ...float64, "GiB"];
  const table = cells.length > 0 ? markdownTable(counted ? [...head, "launches"] : head, cells, 2) : [];
  const legend = float64.length > 0 ? ["", FLOAT64_LEGEND] : [];
  return [...table, ...legend, ...unmeasuredMarkdown(rows.filter((row) => !isTimed(row)))];
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
  const table = (end: string, part: readonly OpRatio[]) => [
    ...["", `## The ${part.length} ${end} ${part.length === 1 ? "op" : "ops"} beside PyTorch`, ""],
    ...markdownTable(
      ["op", "to ours"],
      part.map(({ label, ratio }) => [label, `${ratio.toFixed(2)}×`]),
      1,
    ),
  ];
  return [...table("best", best), ...(worst.length > 0 ? table("worst", worst) : [])];
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
