export { type Ceilings, measureCeilings } from "./ceilings";
export { createProfiler, Profiler, type ProfilerOptions, type ProfilerSpan } from "./profiler";
export { textReport } from "./report/text";
export type { Timeline, TimelineEntry } from "./report/timeline";
export type { Trace, TraceEvent } from "./report/trace";
export { traceReport } from "./report/trace";
export type * from "./report/types";
export { type ReportFormat, renderReport, reportFormat } from "./report/write";
