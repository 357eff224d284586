import { requireFields, type Wanted } from "@vd/kernels-native";

const LIST: Wanted = { expected: "a list", fits: Array.isArray };
const REPORT = { devices: LIST, scopes: LIST, ops: LIST, rows: LIST, kernels: LIST, bottlenecks: LIST, notes: LIST };
const TIMELINE = { entries: LIST, memory: LIST };

/** Refuses what is no report of a profiler. @throws VdError `attr` */
export const requireReport = (where: string, report: unknown): void => requireFields(`${where} report`, report, REPORT);

/** Refuses what is no timeline of a profiler. @throws VdError `attr` */
export const requireTimeline = (where: string, timeline: unknown): void =>
  requireFields(`${where} timeline`, timeline, TIMELINE);
