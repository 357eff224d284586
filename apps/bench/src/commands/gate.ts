import { existsSync } from "node:fs";
import { VdError } from "@vd/kernels-native";
import type { Command } from "commander";
import { readBenchFile } from "../compare/bench-file";
import { measurementOf } from "../history/append";
import { gateMeasurement, isGateClosed, newestOf } from "../history/gate";
import { gateText } from "../history/gate-table";
import { emptyHistory, type History, readHistory } from "../history/history-file";
import { historyPaths, REPORTS } from "../history/places";
import { ownOption } from "../options/command-options";
import type { CommandContext } from "../run";
import { ownFile } from "./common";

interface GateOptions {
  history?: string[];
  report?: string[];
  all?: boolean;
}

/**
 * Reads all histories as one.
 *
 * @throws VdError `io`
 */
async function readHistories(given: readonly string[] | undefined): Promise<History> {
  // A packed program has the history of the checkout that it was made of beside it.
  const known = [...historyPaths(REPORTS), ownFile("reports/gpu", "history.json")];
  const paths = given ?? known.filter((path) => existsSync(path));
  if (paths.length === 0) {
    const expected = `a history, such as ${historyPaths(REPORTS)[0]}`;
    const hint = "Run this in a checkout, or name the file.";
    throw new VdError({ code: "io", where: "--history", expected, got: "none here", hint });
  }
  const read = await Promise.all(paths.map((path) => readHistory(path)));
  return {
    ...emptyHistory(),
    accepted: read.flatMap(({ accepted }) => accepted),
    measurements: read.flatMap(({ measurements }) => measurements),
  };
}

/** `vd-bench gate [--history FILES…] [--report FILES…]`. */
export function addGate(program: Command, { stdout, setStatus }: CommandContext): void {
  program
    .command("gate")
    .description("compare with the best of the history; exit status 1 if something of ours became slower than ever")
    .addOption(ownOption("history"))
    .addOption(ownOption("report"))
    .addOption(ownOption("all"))
    .action(async ({ history: paths, report, all = false }: GateOptions) => {
      const history = await readHistories(paths);
      const files = report && (await Promise.all(report.map(readBenchFile)));
      const measurements = files?.map(measurementOf) ?? newestOf(history);
      const results = measurements.map((measurement) => gateMeasurement(history, measurement));
      stdout.write(`${results.map((result) => gateText(result, { all })).join("\n\n")}\n`);
      if (isGateClosed(results)) setStatus(1);
    });
}
