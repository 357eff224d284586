import { extname } from "node:path";
import { oneOfThese, requireArgument, TEXT, VdError } from "@vd/kernels-native";
import { writeWholeFile } from "@vd/tensor";
import { requireReport, requireTimeline } from "./require-report";
import { textReport } from "./text";
import type { Timeline } from "./timeline";
import { traceReport } from "./trace";
import type { ProfileReport } from "./types";

/** Forms of a report. */
export type ReportFormat = "html" | "json" | "trace" | "txt";

const FORMATS: readonly ReportFormat[] = ["html", "json", "trace", "txt"];

/**
 * The format that a file name asks for by its ending. where: who asks, for the error.
 *
 * @throws VdError `attr`
 */
export function reportFormat(path: string, where = "profiler"): ReportFormat {
  requireArgument(where, path, TEXT);
  const ending = extname(path).slice(1).toLowerCase();
  const format = FORMATS.find((each) => each === ending);
  if (format) return format;
  const expected = `a file name that ends in ${FORMATS.map((each) => `.${each}`).join(", ")}`;
  throw new VdError({ code: "attr", where, expected, got: `"${path}"`, hint: "Name it, for example, profile.html." });
}

/** The report as a text in `format`. @throws VdError `attr` for what is none */
export async function renderReport(format: ReportFormat, report: ProfileReport, timeline: Timeline): Promise<string> {
  requireArgument("renderReport format", format, oneOfThese(FORMATS));
  if (format === "txt") return textReport(report);
  if (format === "json") return `${JSON.stringify(report)}\n`;
  if (format === "trace") return `${JSON.stringify(traceReport(report, timeline))}\n`;
  // Drawing takes half a second to load; the other formats do not need it.
  requireReport("renderReport", report);
  requireTimeline("renderReport", timeline);
  const { htmlReport } = await import("../html/page");
  return htmlReport(report, timeline);
}

/**
 * Writes what `render` makes for the format that the name asks for, whole or not at all.
 *
 * @throws VdError
 */
export async function writeReport(path: string, render: (format: ReportFormat) => Promise<string>): Promise<void> {
  await writeWholeFile(path, await render(reportFormat(path)));
}
