import { valueError } from "@vd/svd-pipeline/options";
import type { Command } from "commander";
import { readBenchFile } from "../compare/bench-file";
import { compareRuns, isRegression } from "../compare/compare";
import { comparisonTable } from "../compare/table";
import { ownOption } from "../options/command-options";
import type { CommandContext } from "../run";

interface CompareOptions {
  base?: string[];
  new?: string[];
  force?: boolean;
}

/**
 * Files of both sides: two arguments, or the lists of both options.
 *
 * @throws VdError `attr` for anything else
 */
function sidesOf(before: string | undefined, after: string | undefined, given: CompareOptions): [string[], string[]] {
  const { base, new: next } = given;
  if (base && next && before === undefined) return [base, next];
  if (!base && !next && before !== undefined && after !== undefined) return [[before], [after]];
  const got = [before, after, base && "--base", next && "--new"].filter((word) => word !== undefined).join(" ");
  throw valueError("compare", "BEFORE.json AFTER.json, or --base FILES --new FILES", got);
}

/** `vd-bench compare A.json B.json`, or `--base A1.json A2.json --new B1.json B2.json`. */
export function addCompare(program: Command, { stdout, setStatus }: CommandContext): void {
  program
    .command("compare")
    .description("compare results of two builds; exit status 1 if something of ours became slower")
    .argument("[before]", "results as JSON")
    .argument("[after]", "later ones")
    .option("--base <FILES...>", "results of several runs before, instead of the arguments")
    .option("--new <FILES...>", "results of several runs after")
    .addOption(ownOption("force"))
    .action(async (before: string | undefined, after: string | undefined, options: CompareOptions) => {
      const sides = sidesOf(before, after, options);
      const [base, next] = await Promise.all(sides.map((paths) => Promise.all(paths.map(readBenchFile))));
      const comparisons = compareRuns(base!, next!, { force: options.force ?? false });
      stdout.write(`${comparisonTable(comparisons)}\n`);
      if (isRegression(comparisons)) setStatus(1);
    });
}
