import { dot, line, type PlotOptions } from "@observablehq/plot";
import { formatNumber } from "../report/format";
import type { ProfileReport, RowSummary } from "../report/types";
import type { OpColors } from "./colors";
import { figure } from "./svg";

const MAX_POINTS = 400;

const plain = (value: number) => String(Number(value.toPrecision(3)));

/** Rows of the same op and shape in one plan. */
interface Point {
  label: string;
  op: string;
  /** FLOP per byte. */
  intensity: number;
  gigaflopPerS: number;
  sharePercent: number;
}

function pointsOf(rows: readonly RowSummary[]): Point[] {
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
  const points = [...groups].map(([label, { row, totalUs, flops, bytes, share }]): Point => {
    return { label, op: row.op, intensity: flops / bytes, gigaflopPerS: flops / totalUs / 1e3, sharePercent: share };
  });
  return points.sort((a, b) => b.sharePercent - a.sharePercent).slice(0, MAX_POINTS);
}

/** The ceiling of each type: rising with the intensity as memory feeds it, flat where arithmetic ends it. */
function roofs({ ceilings }: ProfileReport, from: number, to: number): { dtype: string; x: number; y: number }[] {
  if (!ceilings) return [];
  return Object.entries(ceilings.teraflopPerS).flatMap(([dtype, teraflopPerS]) => {
    const ridge = (teraflopPerS * 1e3) / ceilings.gigabytesPerS;
    const xs = [...new Set([from, Math.min(Math.max(ridge, from), to), to])];
    return xs.map((x) => ({ dtype, x, y: Math.min(x * ceilings.gigabytesPerS, teraflopPerS * 1e3) }));
  });
}

/** Achieved arithmetic against FLOP per byte, a dot for each op and shape, below the device's ceilings. */
export function rooflineChart(report: ProfileReport, colors: OpColors): string {
  const points = pointsOf(report.rows);
  if (points.length === 0) return "<p>No rows were run.</p>";
  const intensities = points.map(({ intensity }) => intensity);
  const [from, to] = [Math.min(...intensities) / 2, Math.max(...intensities) * 2];
  const lines = roofs(report, from, to);
  const options = (width: number): PlotOptions => ({
    height: width < 600 ? 300 : 420,
    ...{ marginLeft: 56, marginBottom: 42, marginRight: 16, grid: true },
    x: { type: "log", domain: [from, to], label: "FLOP per byte", ticks: width < 600 ? 3 : 8, tickFormat: plain },
    y: { type: "log", label: "GFLOP/s", ticks: 6, tickFormat: plain },
    r: { range: [2, width < 600 ? 11 : 18] },
    marks: [
      line(lines, { x: "x", y: "y", z: "dtype", stroke: "var(--roof)", strokeWidth: 2, title: "dtype" }),
      dot(points, {
        ...{ x: "intensity", y: "gigaflopPerS", r: "sharePercent" },
        fill: { value: ({ op }: Point) => colors.of(op), scale: null },
        ...{ fillOpacity: 0.8, stroke: "var(--label)", strokeWidth: 0.4 },
        title: ({ label, gigaflopPerS, sharePercent }: Point) =>
          `${label}: ${formatNumber(gigaflopPerS)} GFLOP/s, ${sharePercent.toFixed(2)} % of the time`,
      }),
    ],
  });
  return figure("Roofline: achieved arithmetic against FLOP per byte", options);
}
