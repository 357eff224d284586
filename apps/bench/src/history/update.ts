import type { BenchFile } from "../measure/report";
import { withResults } from "./append";
import { emptyHistory, type History, historyText, readHistory, saveHistory } from "./history-file";
import { historyPath } from "./places";

/**
 * Adds results to the histories of their kinds of devices in a folder of reports; results that are there already change
 * nothing. Returns these histories as one.
 *
 * @throws VdError `io`
 */
export async function updateHistories(reports: string, files: readonly BenchFile[]): Promise<History> {
  const joined = emptyHistory();
  for (const kind of new Set(files.map(({ machine }) => machine.kind))) {
    const path = historyPath(reports, kind);
    const before = await readHistory(path, emptyHistory());
    const after = withResults(
      before,
      files.filter(({ machine }) => machine.kind === kind),
    );
    if (historyText(after) !== historyText(before)) await saveHistory(path, after);
    joined.measurements.push(...after.measurements);
    joined.accepted.push(...after.accepted);
  }
  return joined;
}
