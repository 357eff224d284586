import { dot, line, type PlotOptions } from "@observablehq/plot";
import type { CategoryColors } from "./colors";
import { figure } from "./figure";

/** Work of one kind: a dot below the ceilings. */
export interface RooflinePoint {
  /** What a reader sees on pointing at it. */
  title: string;
  /** Which colour it has. */
  category: string;
  /** FLOP per byte. */
  intensity: number;
  gigaflopPerS: number;
  /** What the dot's area stands for, such as its share of the time; where points have none, all dots are small. */
  weight?: number;
}

/** What a device can do at most. */
export interface RooflineCeilings {
  gigabytesPerS: number;
  /** TFLOP/s of matrix products, by element type. */
  teraflopPerS: Readonly<Record<string, number>>;
}

/** Radius in pixels. */
const SMALL_DOT = 3;

const plain = (value: number) => String(Number(value.toPrecision(3)));

/** The ceiling of each type: rising with the intensity as memory feeds it, flat where arithmetic ends it. */
function roofs(ceilings: RooflineCeilings | undefined, from: number, to: number) {
  if (!ceilings) return [];
  return Object.entries(ceilings.teraflopPerS).flatMap(([dtype, teraflopPerS]) => {
    const ridge = (teraflopPerS * 1e3) / ceilings.gigabytesPerS;
    const xs = [...new Set([from, Math.min(Math.max(ridge, from), to), to])];
    return xs.map((x) => ({ dtype, x, y: Math.min(x * ceilings.gigabytesPerS, teraflopPerS * 1e3) }));
  });
}

/** Draws achieved arithmetic against FLOP per byte, below the device's ceilings where they are known. Returns HTML. points:
 *  at least one. */
export function rooflineFigure(
  points: readonly RooflinePoint[],
  ceilings: RooflineCeilings | undefined,
  colors: CategoryColors,
): string {
  const intensities = points.map(({ intensity }) => intensity);
  const [from, to] = [Math.min(...intensities) / 2, Math.max(...intensities) * 2];
  const lines = roofs(ceilings, from, to);
  const options = (width: number): PlotOptions => ({
    height: width < 600 ? 300 : 420,
    ...{ marginLeft: 56, marginBottom: 42, marginRight: 16, grid: true },
    x: { type: "log", domain: [from, to], label: "FLOP per byte", ticks: width < 600 ? 3 : 8, tickFormat: plain },
    y: { type: "log", label: "GFLOP/s", ticks: 6, tickFormat: plain },
    r: { range: [2, width < 600 ? 11 : 18] },
    marks: [
      line(lines, { x: "x", y: "y", z: "dtype", stroke: "var(--roof)", strokeWidth: 2, title: "dtype" }),
      dot(points, {
        ...{ x: "intensity", y: "gigaflopPerS", r: points[0]!.weight === undefined ? SMALL_DOT : "weight" },
        fill: { value: ({ category }: RooflinePoint) => colors.of(category), scale: null },
        ...{ fillOpacity: 0.8, stroke: "var(--label)", strokeWidth: 0.4, title: "title" },
      }),
    ],
  });
  return figure("Roofline: achieved arithmetic against FLOP per byte", options);
}
