import type { DeviceEstimate, GenerationEstimate } from "@vd/svd-pipeline";
import { formatBytes, formatDuration, formatFlops } from "./units";

/** @returns the plan of a run as an aligned table: one row per stage, then the totals. */
export function planTable(plan: GenerationEstimate): string {
  const header = ["stage", "rows", "runs", "peak memory", "work", "moved", "estimate"];
  const rows = plan.stages.map((stage) => [
    stage.device === undefined ? stage.name : `${stage.device} ${stage.name}`,
    String(stage.numRows),
    stage.fewestRuns === undefined ? String(stage.runs) : `${stage.fewestRuns} to ${stage.runs}`,
    formatBytes(stage.peakBytes),
    formatFlops(stage.flops),
    formatBytes(stage.bytes),
    formatDuration(stage.estimatedUs),
  ]);
  const totals = [
    "total",
    "",
    "",
    formatBytes(plan.peakBytes),
    formatFlops(plan.flops),
    "",
    formatDuration(plan.estimatedUs),
  ];
  const devices = plan.devices ? ["", ...devicesTable(plan.devices)] : [];
  const weights = [`weights ${formatBytes(plan.weightBytes)}`, ...pinnedLine(plan)];
  return [...align([header, ...rows, totals]), ...weights, ...devices].join("\n");
}

/** What is held of the machine's memory for a GPU. */
function pinnedLine({ pinnedBytes, keepsPinned }: GenerationEstimate): string[] {
  if (pinnedBytes === undefined) return [];
  const howLong = keepsPinned ? "kept for the next generation" : "while it denoises";
  return [`page-locked ${formatBytes(pinnedBytes)} of the machine's memory, ${howLong}`];
}

const ROW_NAMES = ["unconditional", "conditional"];

/** What each of several devices does. */
function devicesTable(devices: readonly DeviceEstimate[]): string[] {
  const header = ["device", "denoises", "decodes", "peak memory", "weights", "received", "estimate", "busy"];
  const rows = devices.map(({ device, rows, frames, peakBytes, weightBytes, receivedBytes, estimatedUs, share }) => [
    device,
    rows.map((row) => ROW_NAMES[row]).join(", ") || "-",
    frames ? `frames ${frames[0]} to ${frames[1] - 1}` : "-",
    ...[peakBytes, weightBytes, receivedBytes].map(formatBytes),
    formatDuration(estimatedUs),
    `${Math.round(100 * share)} %`,
  ]);
  return align([header, ...rows]);
}

function align(table: readonly (readonly string[])[]): string[] {
  const widths = table[0]!.map((_, column) => Math.max(...table.map((row) => row[column]!.length)));
  return table.map((row) =>
    row
      .map((cell, column) => (column === 0 ? cell.padEnd(widths[column]!) : cell.padStart(widths[column]!)))
      .join("  ")
      .trimEnd(),
  );
}
