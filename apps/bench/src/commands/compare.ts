import type { Command } from "commander";
import { readBenchFile } from "../compare/bench-file";
import { compareFiles, comparisonTable, isRegression } from "../compare/compare";
import type { CommandContext } from "../run";

/** `vd-bench compare A.json B.json`. */
export function addCompare(program: Command, { stdout, setStatus }: CommandContext): void {
  program
    .command("compare")
    .description("compare two files of results; exit status 1 if something of ours became slower")
    .argument("<before>", "results as JSON")
    .argument("<after>", "later ones")
    .option("--force", "compare results of different devices")
    .action(async (before: string, after: string, { force }: { force?: boolean }) => {
      const comparisons = compareFiles(await readBenchFile(before), await readBenchFile(after), {
        force: force ?? false,
      });
      stdout.write(`${comparisonTable(comparisons)}\n`);
      if (isRegression(comparisons)) setStatus(1);
    });
}
