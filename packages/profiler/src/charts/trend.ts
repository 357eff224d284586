import { dot, line, type PlotOptions, ruleX, ruleY } from "@observablehq/plot";
import { CategoryColors } from "./colors";
import { figure } from "./figure";

/** A value at one step of a series, and what it spreads over. */
export interface TrendPoint {
  /** Which line it is on. */
  series: string;
  /** One of {@link TrendOptions.steps}. */
  step: string;
  value: number;
  low: number;
  high: number;
  /** What a reader sees who points at it. */
  title: string;
}

/** How a trend is drawn. */
export interface TrendOptions {
  /** What the chart shows, for those who do not see it. */
  label: string;
  /** What stands on the axis of values, which counts multiples. */
  y: string;
  /** All steps from left to right, each once. */
  steps: readonly string[];
  /** Where a dashed line stands. */
  rule?: number;
  /** Points beside the lines that need to be seen, without a spread. */
  outliers?: readonly TrendPoint[];
}

const HEIGHTS = { narrow: 320, wide: 380 } as const;
/** Labels of steps that have room, by the width of the window. */
const MOST_TICKS = { narrow: 8, wide: 24 } as const;
/** Of the axis of values. */
const TICKS = [0.5, 0.7, 0.9, 1, 1.1, 1.2, 1.35, 1.6, 2, 3, 4, 6, 8, 10, 20, 50, 100];
/** How far the axis reaches beyond its values. */
const MARGIN = 1.03;
const OUTLIER_COLOR = "var(--roof)";

/** Every k-th step counted from the last, so that `most` are left at most. */
function ticksOf(steps: readonly string[], most: number): string[] {
  const every = Math.ceil(steps.length / most);
  return steps.filter((_, i) => (steps.length - 1 - i) % every === 0);
}

/** Draws values above 0 over steps in time, on a logarithmic axis, one line with its spread for each series, with a key where there are several. Returns HTML. */
export function trendFigure(
  points: readonly TrendPoint[],
  { label, y, steps, rule, outliers = [] }: TrendOptions,
): string {
  const names = [...new Set(points.map(({ series }) => series))];
  const colors = new CategoryColors(names);
  const stroke = { value: ({ series }: TrendPoint) => colors.of(series), scale: null };
  const values = [...points, ...outliers].flatMap(({ low, high }) => [low, high]);
  const domain = [Math.min(...values, rule ?? Number.POSITIVE_INFINITY) / MARGIN, Math.max(...values) * MARGIN];
  const ticks = TICKS.filter((tick) => tick >= domain[0]! && tick <= domain[1]!);
  const options = (_width: number, name: "wide" | "narrow"): PlotOptions => ({
    height: HEIGHTS[name],
    ...{ marginLeft: 52, marginBottom: 84, marginRight: 16, grid: true },
    x: { type: "point", domain: [...steps], ticks: ticksOf(steps, MOST_TICKS[name]), tickRotate: -50, label: null },
    y: { type: "log", domain, label: y, ticks, tickFormat: String },
    marks: [
      ...(rule === undefined ? [] : [ruleY([rule], { stroke: "var(--label)", strokeDasharray: "4 3" })]),
      ruleX(points, { x: "step", y1: "low", y2: "high", stroke, strokeWidth: 3, strokeOpacity: 0.5 }),
      line(points, { x: "step", y: "value", z: "series", stroke, strokeWidth: 2 }),
      dot(points, { x: "step", y: "value", fill: stroke, r: 3.5, title: "title" }),
      dot(outliers, { x: "step", y: "value", stroke: OUTLIER_COLOR, r: 2.5, title: "title" }),
    ],
  });
  return `${figure(label, options)}${names.length > 1 ? colors.legend() : ""}`;
}
