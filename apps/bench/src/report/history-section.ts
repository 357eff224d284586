import { trendFigure } from "@vd/profiler/charts";
import { type GateResult, gateMeasurement, isGateClosed } from "../history/gate";
import { measurementText } from "../history/gate-table";
import type { Acceptance, History, Measurement } from "../history/history-file";
import { opTrend, partTrend, stepText, type Trend } from "../history/trends";
import { formatMs } from "../measure/table";
import type { Chart } from "./charts";
import { markdownTable, withShortHashes } from "./markdown";

/** What was measured of one device. */
export const historyOf = (history: History, device: string): History => ({
  ...history,
  accepted: history.accepted.filter((each) => each.device === device),
  measurements: history.measurements.filter((each) => each.device === device),
});

const CAPTION = "times as long as its best measurement, the dashed line; lower is better.";

function chartOf(title: string, caption: string, { steps, points, outliers }: Trend): Chart[] {
  if (points.length === 0) return [];
  return [
    { title, caption, figure: trendFigure(points, { label: title, y: "times the best", steps, rule: 1, outliers }) },
  ];
}

/** Charts of parts and ops over all measurements; none where nothing was measured twice. */
export function historyCharts({ measurements }: History): Chart[] {
  return [
    ...chartOf("History: parts", `How many ${CAPTION} Bars: median absolute deviation.`, partTrend(measurements)),
    ...chartOf(
      "History: ops",
      `How many ${CAPTION} Circles: the ops furthest above the range of nine in ten.`,
      opTrend(measurements),
    ),
  ];
}

const countOf = ({ rows }: GateResult, verdict: string) =>
  String(rows.filter(({ comparison }) => comparison.verdict === verdict).length);

function rowOf(history: History, measurement: Measurement): string[] {
  const { command, commit, kernelHash, driver, rows } = measurement;
  const result = gateMeasurement(history, measurement);
  return [
    ...[stepText(measurement), command, `\`${commit}\``, kernelHash === "" ? "" : `\`${kernelHash}\``, driver],
    ...[String(rows.length), countOf(result, "faster"), countOf(result, "slower")],
  ].map(withShortHashes);
}

/** The rows that the last measurement of a command has behind their best. */
function slowerLines(result: GateResult): string[][] {
  return result.rows
    .filter(({ comparison }) => comparison.verdict === "slower")
    .map(({ comparison: { row, beforeUs, afterUs }, best }) => [
      ...[`${row.suite} ${row.name}, ${row.contender}`, formatMs(beforeUs!), formatMs(afterUs!)],
      ...[`${(100 * (afterUs! / beforeUs! - 1)).toFixed(1)} %`, measurementText(best!)],
    ]);
}

/** A list of the rows that were made slower on purpose, and why; nothing where there are none. */
function acceptedLines(accepted: readonly Acceptance[]): string[] {
  if (accepted.length === 0) return [];
  const items = accepted.map(({ row, since, reason }) => `- ${row}, since ${since.slice(0, 10)}: ${reason}.`);
  return ["", "Known to be slower than before, with the reason; their best counts from then on:", "", ...items];
}

/** The history as a part of a page: every measurement beside those before it, and the rows that now are slower than their best. */
export function historyMarkdown(history: History): string[] {
  const { measurements } = history;
  if (measurements.length === 0) return [];
  const head = ["date", "command", "commit", "kernels", "driver", "rows", "faster than ever", "slower than their best"];
  const last = new Map(measurements.map((each) => [each.command, each]));
  const results = [...last.values()].map((each) => gateMeasurement(history, each));
  const slower = results.flatMap(slowerLines);
  const text =
    "Every measurement beside all before it, by `vd-bench gate`: a row counts as faster or slower where its change to the best " +
    "exceeds 5 % and the noise.";
  return [
    ...["", "## History", "", text, ""],
    ...markdownTable(
      head,
      measurements.map((each) => rowOf(history, each)),
      5,
    ),
    ...(isGateClosed(results)
      ? [
          ...["", "Slower now than their best:", ""],
          ...markdownTable(["row", "best, ms", "now, ms", "longer", "best measured on"], slower, 1),
        ]
      : ["", "No row is slower than its best by more than noise."]),
    ...acceptedLines(history.accepted),
  ];
}
