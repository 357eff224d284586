import type { Command } from "commander";
import { readBenchFile } from "../compare/bench-file";
import type { CommandContext } from "../run";

/** `vd-bench report FILES… -o DIR`. */
export function addReport(program: Command, { stdout }: CommandContext): void {
  program
    .command("report")
    .description("make pages with charts and tables from results")
    .argument("<files...>", "results as JSON")
    .option("-o, --output <DIR>", "folder of the pages", "docs/benchmarks")
    .option("--readme <FILE>", "also put tables between its marks")
    .action(async (paths: string[], { output, readme }: { output: string; readme?: string }) => {
      const files = await Promise.all(paths.map(readBenchFile));
      // The chart library takes longer to load than any other command takes to start.
      const { writeReports } = await import("../report/write-report");
      for (const path of await writeReports(files, output, readme)) stdout.write(`${path}\n`);
    });
}
