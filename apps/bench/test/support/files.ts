import type { BenchFile, BenchRow } from "../../src/measure/report";

/** Results of some rows on a device that is not there. */
export function benchFile(rows: readonly BenchRow[], device = "Test GPU"): BenchFile {
  return {
    ...{ format: "vd-bench", version: 1, command: "unet", createdAt: "2026-01-02T03:04:05.000Z" },
    machine: {
      ...{ device, kind: "cuda", capability: "9.0", driver: "580.1", deviceBytes: 2 ** 37, cpu: "CPU", cores: 16 },
      ...{ hostBytes: 2 ** 37, os: "linux", node: "v20.20.2", commit: "abc" },
    },
    ...{ versions: { torch: "2.11.0", cuda: null }, options: {}, rows: [...rows], tables: {}, notes: [] },
  };
}

/** A row of the denoiser with a given median and spread over seven runs. */
export function unetRow(contender: string, medianUs: number, madUs: number): BenchRow {
  const samplesUs = [-2, -1, -1, 0, 1, 1, 2].map((step) => medianUs + step * madUs);
  return { suite: "unet", name: "2x25", contender, medianUs, madUs, samplesUs };
}
