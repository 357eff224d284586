import { basename, join } from "node:path";
import { fileError, makeFolder, writeWholeFile } from "@vd/tensor";
import type { History } from "../history/history-file";
import { type BenchFile, rowKey } from "../measure/report";
import { historyCharts, historyMarkdown, historyOf } from "./history-section";
import { reportHtml } from "./html";
import { reportMarkdown } from "./markdown";
import { type DeviceResults, updateReadme } from "./readme";
import { repeatTexts } from "./repeat";

/** A device's name as a file's: "NVIDIA H200" → "nvidia-h200". */
export const slugOf = (device: string): string =>
  device
    .toLowerCase()
    .replaceAll(/[^a-z0-9]+/g, "-")
    .replaceAll(/^-|-$/g, "");

/** Joins results of one device; of a row in several files the last counts. */
export function mergeFiles(files: readonly BenchFile[]): BenchFile {
  const last = files.at(-1)!;
  const rows = new Map(files.flatMap((file) => file.rows.map((row) => [rowKey(row), row] as const)));
  const tables = Object.assign({}, ...files.map((file) => file.tables)) as BenchFile["tables"];
  const versions = Object.assign({}, ...files.map((file) => file.versions)) as BenchFile["versions"];
  const rates = files.findLast((file) => file.rates)?.rates;
  const notes = [...new Set(files.flatMap((file) => file.notes))];
  const machine = { ...last.machine, commit: commitsOf(files) };
  return { ...last, machine, versions, rows: [...rows.values()], tables, notes, ...(rates ? { rates } : {}) };
}

/** The commit of all results, or each commit with what was measured of it. */
function commitsOf(files: readonly BenchFile[]): string {
  const suites = new Map<string, Set<string>>();
  for (const { machine, rows } of files) {
    const known = suites.get(machine.commit) ?? new Set<string>();
    for (const { suite } of rows) known.add(suite);
    suites.set(machine.commit, known);
  }
  if (suites.size === 1) return files[0]!.machine.commit;
  return [...suites].map(([commit, names]) => `${commit} (${[...names].join(", ")})`).join(" and ");
}

/** Results and the path of their file. */
export interface ReadFile {
  path: string;
  file: BenchFile;
}

/** Files of the same device together, in the order in which devices come first. */
function byDevice(files: readonly ReadFile[]): DeviceResults[] {
  const devices = new Map<string, ReadFile[]>();
  for (const each of files) {
    const { device } = each.file.machine;
    devices.set(device, [...(devices.get(device) ?? []), each]);
  }
  return [...devices.values()].map((same) => ({
    merged: mergeFiles(same.map(({ file }) => file)),
    files: same.map(({ file }) => file),
    paths: same.map(({ path }) => path),
  }));
}

/** What pages have beyond results. */
export interface ReportExtras {
  /** A page whose tables are replaced as well. */
  readme?: string | undefined;
  /** The history that the results are part of, and the folder that it lies in. */
  history?: History | undefined;
  histories?: string | undefined;
}

/**
 * Writes a page with charts and one with tables for every device in `given`. Returns the paths.
 *
 * @throws VdError `io`
 */
export async function writeReports(
  given: readonly ReadFile[],
  dir: string,
  { readme, history, histories }: ReportExtras = {},
): Promise<string[]> {
  const devices = byDevice(given);
  await makeFolder(dir).catch((error: unknown) => {
    throw fileError(dir, "a folder that can be made", error, "--output");
  });
  const paths: string[] = [];
  for (const { merged, files } of devices) {
    const stem = join(dir, slugOf(merged.machine.device));
    const commands = [...new Set(files.flatMap(repeatTexts))];
    const charts = `${stem}-charts.html`;
    const past = history && historyOf(history, merged.machine.device);
    await writeWholeFile(charts, reportHtml(merged, commands, past && historyCharts(past)));
    await writeWholeFile(
      `${stem}.md`,
      reportMarkdown(merged, commands, basename(charts), past && historyMarkdown(past)),
    );
    paths.push(charts, `${stem}.md`);
  }
  if (readme !== undefined) await updateReadme(readme, devices, histories);
  return paths;
}
