import { readFile } from "node:fs/promises";
import { dirname, relative, resolve, sep } from "node:path";
import { VdError } from "@vd/kernels-native";
import { writeWholeFile } from "@vd/tensor";
import { type BenchFile, type BenchRow, rowKey } from "../measure/report";
import { numSamples, tooFewSamples } from "../stats/summary";
import { SUITE_TITLES, threeDigits } from "./charts";
import { machineText, markdownTable, withShortHashes } from "./markdown";
import { RUN_BENCH, repeatTexts } from "./repeat";

const BEGIN = "<!-- benchmarks: begin -->";
const END = "<!-- benchmarks: end -->";

/** Columns of a table: those that a device's results have, in this order. */
const COLUMNS: Readonly<Record<string, string>> = {
  ours: "ours",
  diffusers: "diffusers",
  "diffusers-compile": "diffusers + torch.compile",
  onnxruntime: "ONNX Runtime",
  tensorrt: "TensorRT",
};
const SECOND_US = 1e6;
const isOurs = ({ contender }: BenchRow) => contender.startsWith("ours");

/** Results of one device, and the files that they come from. */
export interface DeviceResults {
  merged: BenchFile;
  files: readonly BenchFile[];
  paths: readonly string[];
}

/** The faster of our two ways to launch, with what the one takes that also brought the weights. */
function bestOfOurs(rows: readonly BenchRow[]): BenchRow | undefined {
  const timed = rows.filter((row) => isOurs(row) && row.medianUs !== undefined);
  if (timed.length === 0) return rows.find(isOurs);
  const best = timed.reduce((a, b) => (b.medianUs! < a.medianUs! ? b : a));
  const peaks = timed.flatMap(({ peakBytes }) => (peakBytes === undefined ? [] : [peakBytes]));
  return { ...best, ...(peaks.length > 0 ? { peakBytes: Math.max(...peaks) } : {}) };
}

/** µs in words: with three digits, in seconds from one second on. */
const durationText = (us: number) =>
  us >= SECOND_US ? `${threeDigits(us / SECOND_US)} s` : `${threeDigits(us / 1e3)} ms`;

function cellText(row: BenchRow | undefined, ours: BenchRow | undefined, isGpu: boolean): string {
  if (!row) return "";
  const { medianUs, madUs = 0, peakBytes, reason } = row;
  if (medianUs === undefined) return `(${reason ?? "not measured"})`;
  const few = tooFewSamples(row);
  const spread = few === undefined ? `± ${((100 * madUs) / medianUs).toFixed(1)} %` : `(${few})`;
  const isPeer = !isOurs(row) && ours?.medianUs !== undefined;
  const parts = [
    `${durationText(medianUs)} ${spread}`,
    ...(isPeer ? [`${(medianUs / ours.medianUs!).toFixed(2)}×`] : []),
    // On the CPU only ours knows what it takes: what was planned.
    ...(isGpu && peakBytes ? [`${threeDigits(peakBytes / 2 ** 30)} GiB`] : []),
  ];
  return parts.join(", ");
}

/** How many samples the contenders of a case have: one number where they agree. */
function samplesText(rows: readonly (BenchRow | undefined)[]): string {
  const counts = rows.flatMap((row) => (row?.medianUs === undefined ? [] : [numSamples(row)]));
  return [...new Set(counts)].join(", ");
}

/** Of parts and whole runs: ops have a page of their own. */
const isShown = ({ suite }: BenchRow) => suite !== "ops" && suite !== "memory";

function deviceTable({ rows, machine }: BenchFile): string[] {
  const shown = rows.filter(isShown);
  const columns = Object.keys(COLUMNS).filter((name) =>
    shown.some(({ contender }) => contender === name || (name === "ours" && contender.startsWith("ours"))),
  );
  const order = Object.keys(SUITE_TITLES);
  const cases = new Map<string, BenchRow[]>();
  for (const row of shown) {
    const key = rowKey({ ...row, contender: "" });
    cases.set(key, [...(cases.get(key) ?? []), row]);
  }
  const lines = [...cases.values()]
    .sort(([a], [b]) => order.indexOf(a!.suite) - order.indexOf(b!.suite))
    .map((same) => {
      const { suite, name } = same[0]!;
      const ours = bestOfOurs(same);
      const shownRows = columns.map((column) =>
        column === "ours" ? ours : same.find(({ contender }) => contender === column),
      );
      const cells = shownRows.map((row) => cellText(row, ours, machine.kind === "cuda"));
      return [`${SUITE_TITLES[suite] ?? suite}: ${name}`, samplesText(shownRows), ...cells];
    });
  return markdownTable(["", "samples", ...columns.map((column) => COLUMNS[column]!)], lines, 1);
}

function deviceText({ merged, files, paths }: DeviceResults): string[] {
  if (!merged.rows.some(isShown)) return [];
  const model = files.map(({ options }) => options.model).find((name) => name !== undefined);
  const what = model === undefined ? [] : [`Model ${model}.`];
  const commands = [...new Set(files.filter(({ command }) => command !== "ops").flatMap(repeatTexts))];
  return [
    ...["", `**${merged.machine.device}**. ${[...what, `${machineText(merged, { short: true })}.`].join(" ")}`, ""],
    ...deviceTable(merged),
    ...merged.notes.flatMap((note) => ["", withShortHashes(`${note}.`.replace(/\.\.$/, "."))]),
    ...["", `From ${paths.map((path) => `\`${path}\``).join(", ")}. Repeat it:`, "", "```sh", ...commands, "```"],
  ];
}

/** What stands between the marks of a page: for every device that has any a table of parts and whole runs beside the peers, where its
 *  figures come from, and the commands that repeat it. histories: the folder that the results' histories lie in. */
export function readmeText(devices: readonly DeviceResults[], histories?: string): string {
  const intro =
    "Medians of contenders that took turns in one run, ± their median absolute deviation; ×: how many times as long as ours; GiB: device memory. Fewer than three samples have a mark instead of a spread. Errors to the float32 reference are on the pages named below.";
  const paths = devices.flatMap((device) => device.paths);
  const into = histories === undefined ? "" : ` --histories ${histories}`;
  const made = `Made from those files by \`${RUN_BENCH} report ${paths.join(" ")} --readme README.md${into}\`.`;
  return ["", intro, ...devices.flatMap(deviceText), "", made, ""].join("\n");
}

/**
 * Replaces what stands between the marks of a page by {@link readmeText}; paths are told as seen from the page.
 *
 * @throws VdError `io` for a page without marks
 */
export async function updateReadme(path: string, devices: readonly DeviceResults[], histories?: string): Promise<void> {
  const text = await readFile(path, "utf8").catch(() => "");
  const [begin, end] = [text.indexOf(BEGIN), text.indexOf(END)];
  if (begin < 0 || end < begin) {
    const expected = `a page with ${BEGIN} and ${END}`;
    const hint = "Put both lines where the tables should stand.";
    throw new VdError({ code: "io", where: path, expected, got: "none", hint });
  }
  const seen = (file: string) =>
    relative(dirname(resolve(path)), resolve(file))
      .split(sep)
      .join("/");
  const asSeen = devices.map((device) => ({ ...device, paths: device.paths.map(seen) }));
  const block = `${BEGIN}\n${readmeText(asSeen, histories === undefined ? undefined : seen(histories))}\n`;
  await writeWholeFile(path, text.slice(0, begin) + block + text.slice(end));
}
