import type { BenchRow } from "../../src/measure/report";
import { summarize } from "../../src/stats/summary";

/** A row of ours with given samples in µs. */
export const rowOf = (name: string, samplesUs: readonly number[]): BenchRow => ({
  ...{ suite: "unet", name, contender: "ours" },
  ...summarize(samplesUs),
});
