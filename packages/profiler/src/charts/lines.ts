import { line, type PlotOptions } from "@observablehq/plot";
import { CategoryColors } from "./colors";
import { figure } from "./figure";

/** One line of a chart. */
export interface LineSeries {
  /** What it stands for; no other line of the chart has the same. */
  name: string;
  /** Its points from left to right. */
  points: readonly { x: number; y: number }[];
  /** Its colour, as CSS; default one of {@link CategoryColors}. */
  color?: string;
}

/** How lines are drawn. */
export interface LinesOptions {
  /** What the chart shows, for those who do not see it. */
  label: string;
  /** What stands on the axes. */
  x: string;
  y: string;
  /** Least and greatest value of the axis; default from 0 to the values' own. */
  range?: readonly [least: number, greatest: number];
}

/** Draws values over a quantity, one line for each series, with a key where there are several. Returns HTML. */
export function linesFigure(series: readonly LineSeries[], { label, x, y, range }: LinesOptions): string {
  const own = Object.fromEntries(series.flatMap(({ name, color }) => (color === undefined ? [] : [[name, color]])));
  const colors = new CategoryColors(series.map(({ name }) => name).filter((name) => !(name in own)));
  const points = series.flatMap(({ name, points }) => points.map((point) => ({ ...point, name })));
  const options = (width: number): PlotOptions => ({
    height: width < 600 ? 220 : 300,
    ...{ marginLeft: 56, marginBottom: 42, marginRight: 16, grid: true },
    x: { label: x, ticks: width < 600 ? 4 : 8 },
    y: { label: y, ticks: 5, zero: true, ...(range && { domain: range }) },
    marks: [
      line(points, {
        ...{ x: "x", y: "y", z: "name", strokeWidth: 2, title: "name" },
        stroke: { value: ({ name }: { name: string }) => own[name] ?? colors.of(name), scale: null },
      }),
    ],
  });
  return `${figure(label, options)}${series.length > 1 ? colors.legend(own) : ""}`;
}
