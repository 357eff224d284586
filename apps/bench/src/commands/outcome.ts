import { machineInfo } from "@vd/app-parts";
import { checkPlace } from "@vd/tensor";
import type { Command } from "commander";
import { readBenchFile } from "../compare/bench-file";
import { compareRuns, isRegression, requireSameDevice } from "../compare/compare";
import { comparisonTable } from "../compare/table";
import type { BenchFile } from "../measure/report";
import { saveBenchFile } from "../measure/save";
import { rowsTable } from "../measure/table";
import { ownOption } from "../options/command-options";
import type { CommandContext } from "../run";

/** What commands that measure do with their results. */
export interface OutcomeOptions {
  json?: string | undefined;
  compare?: string | undefined;
  force?: boolean | undefined;
  /** cpu or cuda, as typed. */
  device?: string | undefined;
}

/** Adds --json, --compare and --force. */
export const withOutcome = (command: Command): Command =>
  (["json", "compare", "force"] as const).reduce((each, name) => each.addOption(ownOption(name)), command);

/**
 * Reads the baseline before any work, so that a wrong one, or a place where results cannot go, costs no time.
 *
 * @throws VdError `io`, `unsupported` for one from another device
 */
export async function openBaseline({ json, compare, device, force }: OutcomeOptions): Promise<BenchFile | undefined> {
  if (json !== undefined) await checkPlace(json, { where: "--json" });
  if (compare === undefined) return undefined;
  const baseline = await readBenchFile(compare);
  if (!force) requireSameDevice(baseline, machineInfo(device === "cuda" ? "cuda" : "cpu").device);
  return baseline;
}

/**
 * Prints results, writes them, compares them and sets the exit status.
 *
 * @throws VdError `io` or `unsupported`
 */
export async function finish(
  file: BenchFile,
  baseline: BenchFile | undefined,
  { json, force }: OutcomeOptions,
  { stdout, setStatus }: CommandContext,
): Promise<void> {
  stdout.write(`${rowsTable(file.rows, file.command === "ops" ? file.rates : undefined)}\n`);
  if (json !== undefined) await saveBenchFile(json, file);
  if (!baseline) return;
  const comparisons = compareRuns([baseline], [file], { force: force ?? false, gone: false });
  stdout.write(`\n${comparisonTable(comparisons)}\n`);
  if (isRegression(comparisons)) setStatus(1);
}
