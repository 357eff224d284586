import { formatBytes, formatDuration } from "./units";

/** What a finished run did. */
export interface RunSummary {
  output: string;
  format: string;
  encoder: string;
  numFrames: number;
  width: number;
  height: number;
  fps: number;
  seed: bigint;
  fileBytes: number;
  /** µs by stage, in the order they ran. */
  timings: Record<string, number>;
  totalUs: number;
  /** Planned peak of the pipeline's own buffers. */
  peakBytes: number;
  /** Largest resident size of the whole process. */
  peakRssBytes: number;
}

/** @returns the last line of a run: the file, its frames, the time of each stage and the peak memory. */
export function summaryLine(summary: RunSummary): string {
  const { output, numFrames, width, height, fps, seed, fileBytes } = summary;
  const length = formatDuration((numFrames / fps) * 1e6);
  const frames = `${numFrames} ${numFrames === 1 ? "frame" : "frames"}`;
  const what = `${frames} of ${width}x${height} at ${fps} fps (${length}), ${formatBytes(fileBytes)}, seed ${seed}`;
  const stages = Object.entries(summary.timings).map(([stage, us]) => `${stage} ${formatDuration(us)}`);
  const times = [...stages, `total ${formatDuration(summary.totalUs)}`].join(", ");
  return `${output}: ${what} | ${times} | peak memory ${formatBytes(summary.peakRssBytes)}`;
}
