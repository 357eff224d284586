import { mkdir, readFile } from "node:fs/promises";
import { join } from "node:path";
import { VdError } from "@vd/kernels-native";
import { writeWholeFile } from "../io/whole-file";
import { type BenchFile, rowKey } from "../measure/report";
import { reportHtml } from "./html";
import { machineText, repeatText, reportMarkdown, rowsMarkdown } from "./markdown";

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
  return { ...last, versions, rows: [...rows.values()], tables, notes, ...(rates ? { rates } : {}) };
}

const BEGIN = "<!-- benchmarks: begin -->";
const END = "<!-- benchmarks: end -->";

/** Replaces what stands between the marks of a page by tables of the end-to-end and part rows. Throws VdError `io`. */
async function updateReadme(path: string, merged: readonly BenchFile[]): Promise<void> {
  const text = await readFile(path, "utf8").catch(() => "");
  const [begin, end] = [text.indexOf(BEGIN), text.indexOf(END)];
  if (begin < 0 || end < begin) {
    const expected = `a page with ${BEGIN} and ${END}`;
    const hint = "Put both lines where the tables should stand.";
    throw new VdError({ code: "io", where: path, expected, got: "none", hint });
  }
  const tables = merged.flatMap((file) => {
    const rows = file.rows.filter(({ suite }) => suite !== "ops" && suite !== "memory");
    return ["", `${machineText(file)}:`, "", ...rowsMarkdown(rows)];
  });
  const repeat = "\nMade by `pnpm bench report`; the pages in docs/benchmarks say how to repeat each.\n";
  const block = `${BEGIN}${tables.join("\n")}\n${repeat}`;
  await writeWholeFile(path, text.slice(0, begin) + block + text.slice(end));
}

/** Writes a page with charts and one with tables for every device in `files`. Returns the paths. Throws VdError `io`. */
export async function writeReports(files: readonly BenchFile[], dir: string, readme?: string): Promise<string[]> {
  const devices = new Map<string, BenchFile[]>();
  for (const file of files) devices.set(file.machine.device, [...(devices.get(file.machine.device) ?? []), file]);
  const merged = [...devices.values()].map(mergeFiles);
  const commands = [...devices.values()].map((same) => [...new Set(same.map(repeatText))]);
  await mkdir(dir, { recursive: true });
  const paths: string[] = [];
  for (const [i, file] of merged.entries()) {
    const stem = join(dir, slugOf(file.machine.device));
    await writeWholeFile(`${stem}.html`, await reportHtml(file, commands[i]!));
    await writeWholeFile(`${stem}.md`, reportMarkdown(file, commands[i]!));
    paths.push(`${stem}.html`, `${stem}.md`);
  }
  if (readme !== undefined) await updateReadme(readme, merged);
  return paths;
}
