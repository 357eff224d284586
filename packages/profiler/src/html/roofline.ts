import type { CategoryColors } from "../charts/colors";
import { type RooflinePoint, rooflineFigure } from "../charts/roofline";
import { formatNumber } from "../report/format";
import type { ProfileReport, RowSummary } from "../report/types";

const MAX_POINTS = 400;

/** Rows of the same op and shape in one plan, those with the most time first. */
function pointsOf(rows: readonly RowSummary[]): RooflinePoint[] {
  const groups = new Map<string, { row: RowSummary; totalUs: number; flops: number; bytes: number; share: number }>();
  for (const row of rows) {
    if (row.flops === 0 || row.bytes === 0 || row.totalUs === 0) continue;
    const key = `${row.plan}: ${row.op} ${row.shape}`;
    const group = groups.get(key) ?? { row, totalUs: 0, flops: 0, bytes: 0, share: 0 };
    groups.set(key, group);
    group.totalUs += row.totalUs;
    group.flops += row.flops;
    group.bytes += row.bytes;
    group.share += row.sharePercent;
  }
  const sorted = [...groups].sort(([, a], [, b]) => b.share - a.share).slice(0, MAX_POINTS);
  return sorted.map(([label, { row, totalUs, flops, bytes, share }]) => {
    const gigaflopPerS = flops / totalUs / 1e3;
    const title = `${label}: ${formatNumber(gigaflopPerS)} GFLOP/s, ${share.toFixed(2)} % of the time`;
    return { title, category: row.op, intensity: flops / bytes, gigaflopPerS, weight: share };
  });
}

/** Achieved arithmetic against FLOP per byte, a dot for each op and shape, below the device's ceilings. */
export function rooflineChart({ rows, ceilings }: ProfileReport, colors: CategoryColors): string {
  const points = pointsOf(rows);
  return points.length === 0 ? "<p>No rows were run.</p>" : rooflineFigure(points, ceilings ?? undefined, colors);
}
