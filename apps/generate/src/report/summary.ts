import type { Continuity } from "@vd/svd-pipeline";
import type { Paint } from "./colours";
import { formatBytes, formatDuration } from "./units";

/** What a finished run did. */
export interface RunSummary {
  /** As it was named. */
  output: string;
  /** The same as an absolute path. */
  path: string;
  format: string;
  encoder: string;
  /** As people know it: a folder, a file, a hub id, `tiny-svd (bundled)`. */
  model: string;
  numFrames: number;
  width: number;
  height: number;
  fps: number;
  steps: number;
  sampler: string | undefined;
  minGuidance: number;
  maxGuidance: number;
  seed: bigint;
  /** How it goes over its seams; undefined for a video without any. */
  continuity: Continuity | undefined;
  fileBytes: number;
  /** µs by stage, in the order they ran. */
  timings: Record<string, number>;
  totalUs: number;
  /** Planned peak of the pipeline's own buffers. */
  peakBytes: number;
  /** Largest resident size of the whole process. */
  peakRssBytes: number;
}

const LABEL_WIDTH = 8;

/** Returns the last lines of a run: what was made, from what, in what time and memory, and where it is. */
export function summaryText(summary: RunSummary, paint: Paint, columns = 80): string {
  const { numFrames, width, height, fps, steps, sampler, minGuidance, maxGuidance, timings, totalUs } = summary;
  const frames = `${numFrames} ${numFrames === 1 ? "frame" : "frames"}`;
  const length = formatDuration((numFrames / fps) * 1e6);
  const parts = Object.entries(timings).map(([stage, us]) => `${stage} ${formatDuration(us)}`);
  const how = [sampler, `guidance ${minGuidance}:${maxGuidance}`].filter((text) => text !== undefined);
  const rows: [label: string, text: string][] = [
    ["model", summary.model],
    ["size", `${frames} of ${width}x${height} at ${fps} fps (${length})`],
    ["steps", [String(steps), ...how].join(", ")],
    ["seed", String(summary.seed)],
    ...seamRow(summary.continuity),
    ["time", [formatDuration(totalUs), ...parts].join(", ").replace(", ", ": ")],
    ["memory", formatBytes(summary.peakRssBytes)],
    ["file", `${summary.path} (${formatBytes(summary.fileBytes)})`],
  ];
  return rows.map(([label, text]) => row(label, text, paint, columns)).join("");
}

/** How the clips of the video fit together, where there are several: motion as a multiple of the steps around, colours in levels. */
function seamRow(continuity: Continuity | undefined): [label: string, text: string][] {
  if (!continuity) return [];
  const { seams, colourDrift } = continuity;
  const motion = Math.max(...seams.map((seam) => seam.motion)).toFixed(2);
  const count = `${seams.length} ${seams.length === 1 ? "seam" : "seams"}`;
  return [
    ["clips", `${count}, motion there up to ${motion}x the usual; colours drifted by ${colourDrift.toFixed(1)} of 255`],
  ];
}

/** A row of the summary. Lists go on in the next line; a path stays whole, so that it can be copied. */
function row(label: string, text: string, paint: Paint, columns: number): string {
  const lines = label === "time" ? wrapped(text, columns - LABEL_WIDTH) : [text];
  const indented = lines.join(`\n${" ".repeat(LABEL_WIDTH)}`);
  return `${paint("heading", label.padEnd(LABEL_WIDTH))}${label === "file" ? paint("good", indented) : indented}\n`;
}

/** Breaks a list after its commas. */
function wrapped(list: string, width: number): string[] {
  const lines = [""];
  for (const item of list.split(/(?<=,) /)) {
    const line = lines.at(-1)!;
    if (line !== "" && line.length + 1 + item.length > width) lines.push(item);
    else lines[lines.length - 1] = line === "" ? item : `${line} ${item}`;
  }
  return lines;
}
