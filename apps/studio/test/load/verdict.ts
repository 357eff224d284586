import type { LoadReport } from "./load";

/** One promise, what was measured of it, and whether it was kept. */
export interface Verdict {
  what: string;
  limit: string;
  measured: string;
  isKept: boolean;
}

const MAX_P95_MS = 50;
/** Memory of the last quarter of the time over that of the second. */
const MAX_GROWTH = 1.1;
/** Videos of the key with the most over those of the key with the least; two videos may always be under way. */
const MAX_LEAD = 1.05;

/** Returns what the figures say of each promise. */
export function verdictsOf(report: LoadReport, listeners: number): Verdict[] {
  const { serverP95, statuses, memory, completed } = report;
  const growth = memory.last / memory.second;
  const counts = completed.map(({ videos }) => videos);
  const [least, most] = [Math.min(...counts), Math.max(...counts)];
  const unexpected = Object.keys(statuses).filter((status) => status !== "200" && status !== "429");
  return [
    {
      what: "95 % of the API's own answers",
      limit: `≤ ${MAX_P95_MS} ms`,
      measured: `≤ ${serverP95} ms`,
      isKept: serverP95 <= MAX_P95_MS,
    },
    {
      what: "memory, last quarter of the time over the second",
      limit: `≤ ${MAX_GROWTH}`,
      measured: `${growth.toFixed(2)} (${memory.second.toFixed(0)} → ${memory.last.toFixed(0)} MiB, at most ${memory.most.toFixed(0)})`,
      isKept: growth <= MAX_GROWTH,
    },
    {
      what: "videos made by key, most and least",
      limit: `≤ ${MAX_LEAD} times, or 2`,
      measured: `${counts.join(", ")} for ${completed.map(({ inQueue }) => inQueue).join(", ")} in the queue`,
      isKept: least > 0 && most - least <= Math.max(2, (MAX_LEAD - 1) * least),
    },
    {
      what: "connections that hear events to the end",
      limit: String(listeners),
      measured: `${report.listeners.open}, ${report.listeners.events} events`,
      isKept: report.listeners.open === listeners,
    },
    {
      what: "answers that are neither a result nor “too many videos”",
      limit: "0",
      measured: unexpected.map((status) => `${statuses[status]} × ${status}`).join(", ") || "0",
      isKept: unexpected.length === 0,
    },
  ];
}
