import type { LiveTimes } from "@vd/live";

/** Mean, percentiles (the nearest rank) and the largest of some milliseconds; zeros where there are none. */
export function timesOf(values: readonly number[]): LiveTimes {
  const sorted = [...values].sort((a, b) => a - b);
  const at = (part: number) => sorted[Math.max(0, Math.ceil(part * sorted.length) - 1)] ?? 0;
  const mean = values.reduce((sum, value) => sum + value, 0) / Math.max(1, values.length);
  return { mean, p50: at(0.5), p95: at(0.95), p99: at(0.99), max: at(1) };
}
