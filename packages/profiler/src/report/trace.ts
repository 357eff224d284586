import { requireReport, requireTimeline } from "./require-report";
import type { Timeline, TimelineEntry } from "./timeline";
import type { ProfileReport } from "./types";

/** One event of the trace event format.
 *  Source: https://docs.google.com/document/d/1CvAClvFfyA5R-PhYUmn5OOQtYMH4h6I0nSsKchNAySU */
export interface TraceEvent {
  name: string;
  /** X: a duration; C: a counter; M: metadata. */
  ph: "X" | "C" | "M";
  pid: number;
  tid: number;
  /** In µs. */
  ts?: number;
  dur?: number;
  cat?: string;
  args?: Record<string, unknown>;
}

/** What Chrome's tracing page and Perfetto read. */
export interface Trace {
  displayTimeUnit: "ms";
  traceEvents: TraceEvent[];
  otherData: Record<string, string>;
}

const PROCESS = 1;

function durationEvent({ name, kind, op, startUs, durationUs, lane, error }: TimelineEntry): TraceEvent {
  const args = { ...(op === undefined ? {} : { op }), ...(error === undefined ? {} : { error }) };
  return {
    name,
    cat: kind,
    ph: "X",
    ...{ pid: PROCESS, tid: lane + 1, ts: startUs, dur: durationUs },
    ...(Object.keys(args).length > 0 ? { args } : {}),
  };
}

/** The timeline as a trace: lanes are threads, memory is a counter. */
export function traceReport(report: ProfileReport, timeline: Timeline): Trace {
  requireReport("traceReport", report);
  requireTimeline("traceReport", timeline);
  const { entries, memory } = timeline;
  const lanes = [...new Set(entries.map(({ lane }) => lane))].sort((a, b) => a - b);
  const named = (name: string, tid: number, value: string): TraceEvent => ({
    ...{ name, ph: "M", pid: PROCESS, tid },
    args: { name: value },
  });
  return {
    displayTimeUnit: "ms",
    traceEvents: [
      named("process_name", 0, "vd"),
      ...lanes.map((lane) => named("thread_name", lane + 1, lane === 0 ? "scopes" : `scopes, side by side ${lane}`)),
      ...entries.map(durationEvent),
      ...memory.map(
        ({ atUs, bytes }): TraceEvent => ({
          ...{ name: "planned memory", ph: "C", pid: PROCESS, tid: 0, ts: atUs },
          args: { bytes },
        }),
      ),
    ],
    otherData: { devices: report.devices.join("; ") },
  };
}
