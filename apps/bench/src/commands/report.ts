import { VdError } from "@vd/kernels-native";
import type { Command } from "commander";
import { readBenchFile } from "../compare/bench-file";
import { updateHistories } from "../history/update";
import { rowKey } from "../measure/report";
import type { CommandContext } from "../run";
import { tooFewSamples } from "../stats/summary";

/** The chart library takes longer to load than any other command takes to start. A packed program has none: throws
 *  VdError `unsupported` there. */
async function loadReports() {
  try {
    return await import("../report/write-report");
  } catch (cause) {
    if ((cause as NodeJS.ErrnoException).code !== "ERR_MODULE_NOT_FOUND") throw cause;
    const hint = "Copy the results to a checkout or an installed @vd/bench and make the pages there.";
    throw new VdError({
      code: "unsupported",
      where: "report",
      expected: "the library @observablehq/plot",
      got: "none",
      hint,
      cause,
    });
  }
}

interface ReportOptions {
  output: string;
  readme?: string;
  histories?: string;
}

/** `vd-bench report FILES… -o DIR`. */
export function addReport(program: Command, { stdout, reporter }: CommandContext): void {
  program
    .command("report")
    .description("make pages with charts and tables from results")
    .argument("<files...>", "results as JSON")
    .option("-o, --output <DIR>", "folder of the pages", "docs/benchmarks")
    .option("--readme <FILE>", "also put tables between its marks")
    .option("--histories <DIR>", "add the results to DIR/gpu/history.json or DIR/cpu/history.json, and draw those")
    .action(async (paths: string[], { output, readme, histories }: ReportOptions) => {
      const files = await Promise.all(paths.map(async (path) => ({ path, file: await readBenchFile(path) })));
      for (const { path, file } of files)
        for (const row of file.rows) {
          const few = tooFewSamples(row);
          if (few !== undefined) reporter.note(`${path}: ${rowKey(row)} has ${few}, three are needed; it is marked`);
        }
      const { writeReports } = await loadReports();
      const all = files.map(({ file }) => file);
      const history = histories === undefined ? undefined : await updateHistories(histories, all);
      const pages = await writeReports(files, output, { readme, histories, history });
      for (const path of pages) stdout.write(`${path}\n`);
    });
}
